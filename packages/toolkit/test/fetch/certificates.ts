/** A certificate authority for one test, made by openssl. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

export interface Certificates {
  /** The file of the authority's certificate. */
  readonly authority: string;
  readonly key: Buffer;
  readonly cert: Buffer;
}

function openssl(...args: readonly string[]): void {
  const run = spawnSync("openssl", args, { encoding: "utf8" });
  if (run.status !== 0) throw new Error(`openssl ${args.join(" ")}: ${run.stderr}`);
}

/** Makes an authority and a certificate of these hosts in the folder. @throws {Error} where openssl can't */
export function makeCertificates(folder: string, hosts: readonly string[]): Certificates {
  const file = (name: string): string => `${folder}/${name}`;
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
  openssl("req", "-x509", ...key, "-subj", "/CN=test authority", "-keyout", file("ca.key"), "-out", file("ca.pem"));
  const names = `subjectAltName=${hosts.map((host) => `DNS:${host}`).join(",")}`;
  const signed = ["-CA", file("ca.pem"), "-CAkey", file("ca.key"), "-addext", names];
  openssl("req", "-x509", ...key, ...signed, "-subj", "/CN=test", "-keyout", file("key.pem"), "-out", file("cert.pem"));
  return { authority: file("ca.pem"), key: readFileSync(file("key.pem")), cert: readFileSync(file("cert.pem")) };
}

/** Why a test that needs them can't run here, or false where it can. */
export function missingPrograms(...programs: readonly string[]): string | false {
  const missing = programs.find((program) => spawnSync(program, ["version"], { stdio: "ignore" }).error !== undefined);
  return missing === undefined ? false : `needs ${missing}`;
}
