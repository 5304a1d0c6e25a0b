/** Turns unpacked Debian packages into the root of a box: what no tool needs goes, Node and the toolkit come. */
import { chmod, copyFile, cp, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** What the packages are asked for; their dependencies come with them. */
export const PACKAGES = [
  "base-files",
  "ca-certificates",
  "coreutils",
  "curl",
  "dash",
  "diffutils",
  "findutils",
  "grep",
  "gzip",
  "libatomic1",
  "libgcc-s1",
  "libstdc++6",
  "mawk",
  "sed",
  "tar",
] as const;

/** Package management, administration, documentation and translations: of no use in a box that lives for one call. */
const PRUNED = [
  "boot",
  "dev",
  "etc/apt",
  "etc/cron.d",
  "etc/cron.daily",
  "etc/default",
  "etc/dpkg",
  "etc/hostname",
  "etc/init.d",
  "etc/pam.d",
  "etc/resolv.conf",
  "etc/security",
  "etc/systemd",
  "lib/systemd",
  "lib/udev",
  "sbin",
  "usr/bin/openssl",
  "usr/games",
  "usr/include",
  "usr/lib/dpkg",
  "usr/lib/systemd",
  "usr/libexec",
  "usr/local",
  "usr/sbin",
  "usr/share",
  "usr/src",
  "var",
] as const;
const PRUNED_BINARIES = /^(?:apt|deb|dpkg|c_rehash|pam|update-)/u;
const CERTIFICATES = "usr/share/ca-certificates/mozilla";

/** Made by the sandbox's own mounts, so they have to be there. */
const MOUNT_POINTS = ["dev", "proc", "sys", "tmp", "run", "etc"] as const;

async function readCertificates(root: string): Promise<string> {
  const directory = join(root, CERTIFICATES);
  const names = (await readdir(directory)).filter((name) => name.endsWith(".crt")).sort();
  const texts = await Promise.all(names.map((name) => readFile(join(directory, name), "utf8")));
  return texts.map((text) => (text.endsWith("\n") ? text : `${text}\n`)).join("");
}

async function removeCharacterSets(root: string): Promise<void> {
  for (const entry of await readdir(join(root, "usr", "lib"), { withFileTypes: true })) {
    if (entry.isDirectory()) await rm(join(root, "usr", "lib", entry.name, "gconv"), { recursive: true, force: true });
  }
}

/** Makes the root complete, in place. `node` and `toolkit` are files of the host. */
export async function furnishRoot(root: string, node: string, toolkit: string): Promise<void> {
  const certificates = await readCertificates(root);
  for (const path of PRUNED) await rm(join(root, path), { recursive: true, force: true });
  for (const directory of ["bin", "usr/bin"]) {
    for (const name of await readdir(join(root, directory))) {
      if (PRUNED_BINARIES.test(name)) await rm(join(root, directory, name), { force: true });
    }
  }
  await removeCharacterSets(root);
  for (const path of [...MOUNT_POINTS, "etc/ssl/certs", "opt/boxmaker", "usr/share"])
    await mkdir(join(root, path), { recursive: true });
  await writeFile(join(root, "etc/ssl/certs/ca-certificates.crt"), certificates);
  await writeFile(join(root, "etc/passwd"), "root:x:0:0:root:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/tmp:/bin/sh\n");
  await writeFile(join(root, "etc/group"), "root:x:0:\nnogroup:x:65534:\n");
  await symlink("mawk", join(root, "usr/bin/awk"));
  await copyFile(node, join(root, "usr/bin/node"));
  await chmod(join(root, "usr/bin/node"), 0o755);
  await cp(toolkit, join(root, "opt/boxmaker/toolkit.mjs"));
}
