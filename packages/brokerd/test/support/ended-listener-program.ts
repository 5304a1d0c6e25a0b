/** brokerd whose listener on the socket `ENDED_LISTENER` ends by itself at SIGUSR2, as one does that the kernel gives nothing any more. */
import { Server } from "node:net";
import { join } from "node:path";

const path = process.env["ENDED_LISTENER"];
const servers: Server[] = [];
const { listen } = Server.prototype;
Server.prototype.listen = function (this: Server, ...args: unknown[]): Server {
  const [where] = args;
  if (typeof where === "object" && where !== null && "path" in where && where.path === path) servers.push(this);
  Reflect.apply(listen, this, args);
  return this;
};
process.on("SIGUSR2", () => {
  for (const server of servers) server.close();
});
await import(join(import.meta.dirname, "../../src/main.ts"));
