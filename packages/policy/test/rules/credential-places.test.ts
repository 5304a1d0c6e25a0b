/** Where credentials lie: which paths are such places, and which places a mount has. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CREDENTIAL_PLACES, credentialPlaceOf, credentialPlacesBelow } from "../../src/rules/credential-places.ts";
import { path } from "./support.ts";

let folders = 0;

/** A folder that nobody has asked for: what was found is remembered. */
function newFolder(): string {
  folders++;
  return `/srv/asked-for-${folders}`;
}

test("every credential place is hidden below its own name, wherever it stands, with all that it holds", () => {
  assert.equal(new Set(CREDENTIAL_PLACES).size, CREDENTIAL_PLACES.length);
  for (const place of CREDENTIAL_PLACES) {
    assert.match(place, /^\.[a-z][a-zA-Z0-9./-]+$/u);
    for (const folder of ["/home/me", "/srv/a/b"]) {
      const outermost = credentialPlaceOf(path(`${folder}/${place}`));
      assert.equal(outermost, `${folder}/${place}`);
      assert.equal(credentialPlaceOf(path(`${folder}/${place}/x/y`)), outermost);
    }
  }
});

test("the best known credential places are among them", () => {
  for (const place of [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker/config.json",
    ".netrc",
    ".npmrc",
    ".env",
    ".env.local",
  ]) {
    assert.ok(CREDENTIAL_PLACES.includes(place), place);
  }
});

test("what only begins or ends like a credential place is none", () => {
  for (const at of [
    "/home/me/.config",
    "/home/me/.config/other",
    "/home/me/gh",
    "/home/me/.sshx",
    "/home/me/ssh",
    "/home/me/.docker",
  ]) {
    assert.equal(credentialPlaceOf(path(at)), undefined, at);
  }
  assert.equal(credentialPlaceOf(path("/home/me/.ssh/.aws/x")), "/home/me/.ssh");
});

test("a mount has every credential place directly below it, the first time and each later one", () => {
  const [one, other] = [newFolder(), newFolder()];
  const expected = (folder: string): readonly string[] => CREDENTIAL_PLACES.map((place) => `${folder}/${place}`);
  for (const folder of [one, other, one]) assert.deepEqual(credentialPlacesBelow(path(folder)), expected(folder));
});

test("a mount so deep that a place below it would be no path any more has the others", () => {
  const deep = `${newFolder()}${"/x".repeat(2035)}`;
  const room = 4096 - Buffer.byteLength(deep) - 1;
  const fitting = CREDENTIAL_PLACES.filter((place) => place.length <= room);
  assert.ok(fitting.length > 0 && fitting.length < CREDENTIAL_PLACES.length);
  assert.deepEqual(
    credentialPlacesBelow(path(deep)),
    fitting.map((place) => `${deep}/${place}`),
  );
});
