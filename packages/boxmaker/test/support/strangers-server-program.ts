/** A model server of another user: `node strangers-server-program.ts UID PORT`, started as root. Says `ready PORT`, and ends with its standard input. */
import { serveDemoModel } from "@boxmaker/demo-model";

const [uid, port] = process.argv.slice(2).map(Number);
process.setgroups?.([]);
process.setgid?.(uid ?? 0);
process.setuid?.(uid ?? 0);
const server = await serveDemoModel({ listen: { kind: "tcp", port: port ?? 0 } });
process.stdout.write(`ready ${new URL(server.url).port}\n`);
process.stdin.once("end", () => process.exit()).resume();
