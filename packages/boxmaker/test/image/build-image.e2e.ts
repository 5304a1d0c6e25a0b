import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { buildImage } from "../../src/image/build-image.ts";
import { checkImage, type ImageCheck, showImageCheck } from "../../src/image/check-image.ts";
import { findImage } from "../../src/image/find-image.ts";
import { TOOLKIT } from "../../src/image/tools-image.ts";

function isThere(program: string): boolean {
  return spawnSync(program, ["--version"], { stdio: "ignore" }).error === undefined;
}

const missing = ["podman", "mmdebstrap", "tar"].filter((program) => !isThere(program));

/** crun can't run a container on a hybrid cgroup machine, runc can. */
function inImage(image: string, command: string): string {
  const args = [
    "run",
    "--rm",
    "--ulimit=nofile=256:256",
    "--ulimit=nproc=256:256",
    "--network=none",
    "--pull=never",
    image,
    "/bin/sh",
    "-c",
    command,
  ];
  const first = spawnSync("podman", args, { encoding: "utf8" });
  const { status, stdout, stderr } =
    first.status === 0 ? first : spawnSync("podman", ["--runtime=runc", ...args], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return stdout;
}

/** Two thirds of it is Node. */
const MAX_BYTES = 200_000_000;

/** As podman counts: what is in it, unpacked. */
function sizeOf(image: string): number {
  const { stdout } = spawnSync("podman", ["image", "inspect", "--format={{.Size}}", image], { encoding: "utf8" });
  return Number(stdout);
}

/** What of an image isn't as it has to be, by the first words of each finding. */
function failures(check: ImageCheck): readonly string[] {
  assert.ok(check.kind === "checked", check.kind === "failed" ? check.problem : "");
  return check.findings.filter(({ ok }) => !ok).map(({ what }) => what.split(/[:,]/u, 1).join());
}

/** An image like another, spoilt by what a Containerfile says; the test removes it. */
function spoil(folder: string, from: string, lines: string): string {
  writeFileSync(join(folder, "Containerfile"), `FROM ${from}\n${lines}`);
  const { status, stdout, stderr } = spawnSync("podman", ["build", "--quiet", "--pull=never", folder], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return stdout.trim();
}

test("buildImage() says which file is missing", async () => {
  const result = await buildImage({ toolkit: "/nonexistent/toolkit.mjs" });
  assert.deepEqual(result, {
    kind: "failed",
    problem: 'the toolkit "/nonexistent/toolkit.mjs" can\'t be read: build it first; see docs/runbook.md#image-build-failed',
  });
  assert.equal(await findImage("/nonexistent/toolkit.mjs"), undefined);
  assert.deepEqual(await checkImage({ toolkit: "/nonexistent/toolkit.mjs" }), {
    kind: "failed",
    problem: 'the toolkit "/nonexistent/toolkit.mjs" can\'t be read: build it first; see docs/runbook.md#image-check-failed',
  });
});

test("checkImage() says what it couldn't look at", { skip: missing.includes("podman") && "needs podman" }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "boxmaker-image-test-"));
  const toolkit = join(folder, "toolkit.mjs");
  writeFileSync(toolkit, `// ${folder}\n`);
  try {
    const problems = await Promise.all(
      [undefined, "localhost/no-such-image\u001b[2J", "--all"].map(async (image) => {
        const check = await checkImage({ image, toolkit });
        assert.deepEqual(showImageCheck(check, false), {
          output: "",
          problems: check.kind === "failed" ? [check.problem] : [],
          status: 1,
        });
        assert.match(showImageCheck(check, true).output, /^\{"kind":"failed","problem":"[^\n]*\}\n$/u);
        return check.kind === "failed" ? check.problem : "";
      }),
    );
    assert.match(problems[0] ?? "", /no tools image with this toolkit: make one by `boxmaker image build`; see docs\/runbook/u);
    assert.match(problems[1] ?? "", /^the image "localhost\/no-such-image\\u001b\[2J": /u);
    assert.match(problems[2] ?? "", /^"--all" is no name of an image; /u);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("checkImage() doesn't run an image that could tell the OCI runtime how", {
  skip: missing.includes("podman") && "needs podman",
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "boxmaker-image-"));
  writeFileSync(join(folder, "Containerfile"), "FROM scratch\nLABEL boxmaker-test=annotated\n");
  const args = ["build", "--quiet", "--pull=never", "--format=oci", "--annotation=run.oci.seccomp_bpf_data=AAAA", folder];
  const { status, stdout, stderr } = spawnSync("podman", args, { encoding: "utf8" });
  rmSync(folder, { recursive: true });
  assert.equal(status, 0, stderr);
  try {
    const check = await checkImage({ image: stdout.trim(), toolkit: join(import.meta.dirname, "build-image.e2e.ts") });
    assert.ok(check.kind === "failed");
    assert.match(check.problem, /its annotation "run\.oci\.seccomp_bpf_data" could tell the OCI runtime what to do; see docs/u);
  } finally {
    spawnSync("podman", ["rmi", "--force", stdout.trim()], { stdio: "ignore" });
  }
});

test("buildImage() makes the same image twice, with every program of a box and nothing set-id", {
  skip: missing.length > 0 && `needs ${missing.join(", ")}`,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "boxmaker-image-test-"));
  const toolkit = join(folder, "toolkit.mjs");
  // Of its own, so that it can't be another image's.
  writeFileSync(toolkit, `// ${folder}\nconsole.log("toolkit");\n`);
  try {
    assert.equal(await findImage(toolkit), undefined);
    const first = await buildImage({ toolkit });
    assert.ok(first.kind === "built", first.kind === "failed" ? first.problem : "");
    assert.match(first.reference, /^sha256:[0-9a-f]{64}$/u);
    assert.equal(await findImage(toolkit), first.reference);
    assert.deepEqual(await buildImage({ toolkit }), first);
    assert.ok(sizeOf(first.reference) < MAX_BYTES, `${sizeOf(first.reference)} bytes`);

    const programs = "awk cat cmp curl diff find grep gzip node sed sh sort tar xargs";
    const script = `for p in ${programs}; do command -v $p > /dev/null || echo no $p; done
        [ ! -e /etc/resolv.conf ] || echo a resolver of the machine that built it
        find / -xdev -perm /6000; find / -xdev -type b; ls -ld /tmp | cut -c1-10
        grep -c BEGIN /etc/ssl/certs/ca-certificates.crt > /dev/null && node /opt/boxmaker/toolkit.mjs`;
    assert.equal(inImage(first.reference, script), "drwxrwxrwt\ntoolkit\n");

    const good = await checkImage({ toolkit });
    assert.deepEqual(failures(good), []);
    assert.ok(good.kind === "checked" && good.reference === first.reference);
    assert.equal(showImageCheck(good, false).status, 0);

    writeFileSync(join(folder, "program"), "#!/bin/sh\n");
    const spoilt = spoil(
      folder,
      first.reference,
      `COPY --chmod=4755 program /usr/bin/helper
       COPY --chmod=0755 program /usr/bin/node
       COPY --chmod=0755 program /usr/bin/curl
       COPY --chmod=0644 program /usr/bin/xargs
       COPY --chmod=0666 program /opt/boxmaker/toolkit.mjs
       COPY --chmod=0644 program /etc/ssl/certs/ca-certificates.crt
       ENTRYPOINT ["/usr/bin/helper"]
       VOLUME /data
      `,
    );
    try {
      const check = await checkImage({ image: spoilt, toolkit });
      assert.deepEqual(failures(check), [
        "every program of a box",
        "/usr/bin/node is Node 24 or later",
        "curl is 7.84 or later",
        "/opt/boxmaker/toolkit.mjs is this Boxmaker's toolkit",
        "certificates of public authorities",
        "no program with a set-id mode",
        "nothing but /tmp that everybody may write",
        "no entry point",
        "no volumes",
      ]);
      const { output, problems, status } = showImageCheck(check, false);
      assert.equal(status, 1);
      assert.match(output, /FAILED {2}no program with a set-id mode: found "\/usr\/bin\/helper"\n/u);
      assert.match(
        problems.join("\n"),
        /^the image sha256:[0-9a-f]{64} isn't as it has to be; see docs\/runbook\.md#image-check-failed$/u,
      );
    } finally {
      spawnSync("podman", ["rmi", "--force", spoilt], { stdio: "ignore" });
    }
  } finally {
    const image = await findImage(toolkit);
    if (image !== undefined) spawnSync("podman", ["rmi", "--force", image], { stdio: "ignore" });
    rmSync(folder, { recursive: true });
  }
});

const CONTAINERFILE = join(import.meta.dirname, "../../image/Containerfile");
const own = missing.length === 0 ? await findImage() : undefined;
const noImage = own === undefined && "needs podman and the tools image: npm run image";
const NODE_IMAGE = "docker.io/library/node";
const base = missing.includes("podman")
  ? ""
  : spawnSync("podman", ["images", "--quiet", "--no-trunc", NODE_IMAGE], { encoding: "utf8" }).stdout.split("\n", 1).join();

/** Builds the Containerfile on a base, and says what of the image isn't as it has to be. The image is removed. */
async function buildContainerfile(from: string, ...options: readonly string[]): Promise<readonly string[]> {
  const args = [
    "build",
    "--quiet",
    "--pull=never",
    ...options,
    `--build-arg=BASE=${from}`,
    `--file=${CONTAINERFILE}`,
    dirname(TOOLKIT),
  ];
  const first = spawnSync("podman", args, { encoding: "utf8" });
  const { status, stdout, stderr } =
    first.status === 0 ? first : spawnSync("podman", ["--runtime=runc", ...args], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  try {
    return failures(await checkImage({ image: stdout.trim() }));
  } finally {
    spawnSync("podman", ["rmi", "--force", stdout.trim()], { stdio: "ignore" });
  }
}

test("the Containerfile makes an image that is as it has to be, on a base whose packages are there", {
  skip: noImage,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "boxmaker-image-test-"));
  // Without a network: what is to be installed is in the image already. The base has what the file has to undo.
  writeFileSync(join(folder, "apt-get"), "#!/bin/sh\nexit 0\n");
  const from = spoil(
    folder,
    own ?? "",
    `COPY --chmod=0755 apt-get /usr/bin/apt-get
     COPY --chmod=4755 apt-get /usr/bin/helper
     COPY --chmod=0666 apt-get /usr/share/open
     ENTRYPOINT ["/usr/bin/helper"]
    `,
  );
  try {
    assert.deepEqual(await buildContainerfile(from, "--network=none"), []);
  } finally {
    spawnSync("podman", ["rmi", "--force", from], { stdio: "ignore" });
    rmSync(folder, { recursive: true });
  }
});

test("the Containerfile makes an image that is as it has to be, on Node's own Debian image", {
  skip: base === "" && `needs an image of ${NODE_IMAGE}, and the package mirrors`,
}, async () => {
  assert.deepEqual(await buildContainerfile(base), []);
});
