/** A web server in a process of its own, with the key and certificate of a folder: `/N` is N bytes. Ends with its input. */
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { join } from "node:path";

const CHUNK = Buffer.alloc(256 * 1024, "x");
const [folder = ""] = process.argv.slice(2);
const [key, cert] = ["key.pem", "cert.pem"].map((name) => readFileSync(join(folder, name)));

const server = createServer({ ...(key && { key }), ...(cert && { cert }) }, (request, response) => {
  let left = Number(request.url?.slice(1));
  response.writeHead(200, { "content-length": left });
  const send = (): void => {
    while (left > 0) {
      const chunk = CHUNK.subarray(0, left);
      left -= chunk.length;
      if (!response.write(chunk)) {
        response.once("drain", send);
        return;
      }
    }
    response.end();
  };
  send();
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (address !== null && typeof address !== "string") process.stdout.write(`${address.port}\n`);
});
process.stdin.resume().once("end", () => {
  server.close();
  server.closeAllConnections();
});
