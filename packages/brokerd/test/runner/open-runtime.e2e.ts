import assert from "node:assert/strict";
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { findCurlProblem } from "../../src/runner/bubblewrap/fetch-needs.ts";
import { openRuntime } from "../../src/runner/open-runtime.ts";
import { askHost } from "../../src/runner/podman/podman-host.ts";
import { buildRunSpec } from "../../src/runner/run-spec.ts";
import { RunnerConfig } from "../../src/runner/runner-config.ts";
import { RUN_SENTENCES } from "../../src/runner/runtime.ts";
import { decideCall } from "./decisions.ts";
import { type TemporaryFolder, temporaryFolder } from "./temporary-folder.ts";

const IMAGE = `sha256:${"a".repeat(64)}`;
const PROFILE = JSON.stringify({ defaultAction: "SCMP_ACT_ERRNO", archMap: [], syscalls: [] });

interface FakePodman {
  readonly info?: string;
  readonly image?: string;
  readonly run?: string;
  readonly leftovers?: string;
  readonly network?: string;
}

/** A podman that is a script: what each of its commands does. Its calls are in `calls`. */
function fakePodman(folder: TemporaryFolder, fake: FakePodman): string {
  writeFileSync(folder.at("seccomp"), PROFILE);
  const info = fake.info ?? `echo 'false|v2|systemd|memory,pids|crun|${folder.at("seccomp")}|/s|/r|/s/v'`;
  const script = `#!/bin/sh
echo "$@" >> ${folder.at("calls")}
case "$*" in
  info*) ${info} ;;
  "image inspect"*) ${fake.image ?? `echo '${IMAGE.slice(7)} {"org.opencontainers.image.title":"x"}'`} ;;
  "network exists"*) ${fake.network ?? "exit 1"} ;;
  ps*) ${fake.leftovers ?? ":"} ;;
  *" run "*|run*) ${fake.run ?? "exit 126"} ;;
esac
`;
  writeFileSync(folder.at("podman"), script);
  chmodSync(folder.at("podman"), 0o755);
  return folder.at("podman");
}

async function refusal(folder: TemporaryFolder, config: object): Promise<string> {
  const opening = await openRuntime(RunnerConfig.parse(config), { home: folder.path, warn: () => undefined });
  assert.ok(opening.kind === "refused", "expected a refusal");
  assert.doesNotMatch(opening.problem, /[\n\r]/u);
  assert.match(opening.problem, /; see docs\/runbook\.md#[a-z-]+$/u);
  return opening.problem;
}

test("without [runner], or with refusing, every call fails with a fixed sentence", async () => {
  using folder = temporaryFolder();
  for (const config of [null, RunnerConfig.parse({ runtime: "refusing" })]) {
    const opening = await openRuntime(config, { home: folder.path, warn: () => undefined });
    assert.ok(opening.kind === "ready");
    await using runtime = opening.runtime;
    const decision = decideCall(runtime, { tool: "read_file", arguments: { path: folder.at("a") }, paths: [folder.path] });
    const outcome = await runtime.run(buildRunSpec(decision), { signal: new AbortController().signal });
    assert.ok(outcome.kind === "error" && outcome.code === "no_runner");
    assert.match(RUN_SENTENCES[outcome.code], /no sandbox configured/u);
  }
  assert.ok(!existsSync(folder.at("run")));
});

test("a runtime whose program is missing refuses at start", async () => {
  using folder = temporaryFolder();
  assert.match(
    await refusal(folder, { runtime: "podman", podman: "/nonexistent/podman", image: IMAGE }),
    /not found.*#podman-unusable$/u,
  );
  assert.match(
    await refusal(folder, { runtime: "bubblewrap", bubblewrap: "/nonexistent/bwrap" }),
    /not found.*#bubblewrap-unusable$/u,
  );
  for (const runtime of ["bubblewrap", "process"]) {
    assert.match(await refusal(folder, { runtime, toolkit: folder.at("none") }), /#toolkit-missing$/u);
  }
});

test("the runner's own folder is the owner's alone", async () => {
  using folder = temporaryFolder();
  await refusal(folder, { runtime: "bubblewrap", bubblewrap: "/nonexistent/bwrap" });
  assert.equal(statSync(folder.at("run/runner")).mode & 0o777, 0o700);
});

test("a home in which the runner can't have its folder refuses at start", async () => {
  using folder = temporaryFolder();
  writeFileSync(folder.at("run"), "");
  assert.match(await refusal(folder, { runtime: "process" }), /#runner-folder$/u);
});

test("podman that can't enforce limits refuses at start, unless the owner says that this is all right", async () => {
  using folder = temporaryFolder();
  const cases: readonly (readonly [string, RegExp])[] = [
    ["true|v1|cgroupfs|memory,pids|runc|/x|/s|/r|/s/v", /rootless podman can't limit memory and processes on cgroup v1/u],
    ["true|v2|cgroupfs|memory,pids|crun|/x|/s|/r|/s/v", /needs the systemd cgroup manager/u],
    ["true|v2|systemd|cpu,pids|crun|/x|/s|/r|/s/v", /the memory controller is not available/u],
    ["false|v2|systemd||crun|/x|/s|/r|/s/v", /the memory and pids controller is not available/u],
  ];
  for (const [info, expected] of cases) {
    const podman = fakePodman(folder, { info: `echo '${info}'` });
    const problem = await refusal(folder, { runtime: "podman", podman, image: IMAGE });
    assert.match(problem, expected);
    assert.match(problem, /#limits-not-enforced$/u);
    // Unenforced goes on, to the next thing that is wrong here.
    assert.match(await refusal(folder, { runtime: "podman", podman, image: IMAGE, limits: "unenforced" }), /#system-call-filter$/u);
  }
});

test("podman without its image, or without a profile to build the filter on, refuses at start", async () => {
  using folder = temporaryFolder();
  const config = { runtime: "podman", podman: fakePodman(folder, {}), image: IMAGE };
  assert.match(await refusal(folder, { ...config, image: null }), /runner\.image is not set.*#tools-image-missing$/u);
  fakePodman(folder, { image: "echo 'Error: no such image' >&2; exit 125" });
  assert.match(await refusal(folder, config), /no such image.*#tools-image-missing$/u);
  for (const answer of ["something else", IMAGE.slice(7), `${IMAGE.slice(7)} []`, `${IMAGE.slice(7)} {"a":1}`]) {
    fakePodman(folder, { image: `echo '${answer}'` });
    assert.match(await refusal(folder, config), /of no known form.*#tools-image-missing$/u);
  }
  fakePodman(folder, { image: `echo '${IMAGE.slice(7)} {"org.opencontainers.image.title":"x","run.oci.handler":"krun"}'` });
  assert.match(await refusal(folder, config), /its annotation run\.oci\.handler could tell .*#tools-image-missing$/u);
  // The next thing that is wrong here.
  fakePodman(folder, { image: `echo '${IMAGE.slice(7)} null'` });
  assert.doesNotMatch(await refusal(folder, config), /#tools-image-missing$/u);
  fakePodman(folder, {});
  for (const bad of ["{", "{}", PROFILE.replace("ERRNO", "ALLOW")]) {
    fakePodman(folder, {});
    writeFileSync(folder.at("seccomp"), bad);
    assert.match(await refusal(folder, config), /#system-call-filter$/u);
  }
  fakePodman(folder, { info: "echo nonsense" });
  assert.match(await refusal(folder, config), /of another form than expected.*#podman-unusable$/u);
  fakePodman(folder, { info: "printf 'a\\033[31m\\nb' >&2; exit 1" });
  assert.match(await refusal(folder, config), /"a\\u001b\[31m\\u000ab".*#podman-unusable$/u);
});

test("a network for proxies that podman doesn't have refuses at start", async () => {
  using folder = temporaryFolder();
  const opened = (egress_network: string | null, fake: FakePodman = {}): Promise<string> =>
    refusal(folder, { runtime: "podman", podman: fakePodman(folder, fake), image: IMAGE, egress_network });
  for (const missing of ["web", "web:ip=10.0.0.1", "web,other", "ns:/run/netns/nonexistent", `ns:${folder.at("none")}`]) {
    assert.match(await opened(missing), /^runner\.egress_network ".*#egress-network$/u, missing);
  }
  assert.match(await opened("web"), /podman has no such network/u);
  // These go on, to the next thing that is wrong here.
  for (const known of [null, "bridge", "host", "pasta", "slirp4netns:mtu=1500", `ns:${folder.path}`]) {
    assert.match(await opened(known), /#podman-unusable$/u, known ?? "");
  }
  const asked = readFileSync(folder.at("calls"), "utf8");
  assert.match(asked, /^network exists web$/mu);
  assert.doesNotMatch(asked, /network exists (?:bridge|host|pasta)/u);
  assert.match(await opened("web,other:mtu=1", { network: ":" }), /#podman-unusable$/u);
  assert.match(readFileSync(folder.at("calls"), "utf8"), /^network exists other$/mu);
});

test("findCurlProblem() takes a curl that can go out by a Unix socket, and says what is wrong with another", async () => {
  using folder = temporaryFolder();
  const problemOf = (says: string): Promise<string | null> => {
    writeFileSync(folder.at("curl"), `#!/bin/sh\n${says}\n`, { mode: 0o755 });
    return findCurlProblem(folder.at("curl"));
  };
  for (const version of ["7.84.0", "7.88.1", "8.0.0", "10.1.0"]) {
    assert.equal(await problemOf(`echo 'curl ${version} (x86_64-pc-linux-gnu) libcurl/${version}'`), null);
  }
  for (const version of ["7.83.9", "6.99.0"])
    assert.match((await problemOf(`echo 'curl ${version} x'`)) ?? "", /is version [67]\.\d+,/u);
  for (const says of ["echo wget 9.0", "echo curl 8.0.0 x; exit 1", ":"]) {
    assert.match((await problemOf(says)) ?? "", /doesn't say its version$/u);
  }
  assert.match((await findCurlProblem(folder.at("none"))) ?? "", /none: not found$/u);
});

test("podman is tried with its own choice of runtime, then with runc, and refuses when neither can run a box", async () => {
  using folder = temporaryFolder();
  const config = { runtime: "podman", podman: fakePodman(folder, { run: "echo no cgroups >&2; exit 126" }), image: IMAGE };
  assert.match(await refusal(folder, config), /crun: exit status 126, closed: no cgroups; runc: .*#podman-unusable$/u);
  const runs = (): readonly string[] =>
    readFileSync(folder.at("calls"), "utf8")
      .split("\n")
      .filter((line) => / ?run --interactive/u.test(line));
  assert.deepEqual(
    runs().map((line) => line.slice(0, 14)),
    ["run --interact", "--runtime=runc"],
  );
  assert.match(await refusal(folder, { ...config, oci_runtime: "kata" }), /"kata: exit status 126/u);
  assert.equal(runs().length, 3);
});

test("podman that can't clear away what an earlier brokerd left refuses at start", async () => {
  using folder = temporaryFolder();
  const config = { runtime: "podman", podman: fakePodman(folder, { leftovers: "exit 1" }), image: IMAGE };
  assert.match(await refusal(folder, config), /#leftover-containers$/u);
});

test("bubblewrap refuses limits that nothing would enforce", async (t) => {
  if (existsSync("/run/systemd/system")) {
    t.skip("needs a machine without systemd");
    return;
  }
  using folder = temporaryFolder();
  assert.match(await refusal(folder, { runtime: "bubblewrap", bubblewrap: "true" }), /#limits-not-enforced$/u);
});

test("askHost() tells where podman's storage is, so that no grant covers it, and takes no answer without", async () => {
  using folder = temporaryFolder();
  const host = await askHost(fakePodman(folder, {}));
  assert.deepEqual(host.kind === "ok" && host.value.storage, ["/s", "/r", "/s/v"]);
  for (const storage of ["", "|/s|/r", "|/s||/s/v", "|/s|relative|/s/v"]) {
    const info = `echo 'false|v2|systemd|memory,pids|crun|/x${storage}'`;
    assert.equal((await askHost(fakePodman(folder, { info }))).kind, "failed", storage);
  }
});
