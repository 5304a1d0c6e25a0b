/** Of an image's annotations those that mean something to an OCI runtime are found, and unknown ones with them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { findActingAnnotation } from "../../src/index.ts";

test("an annotation counts as acting unless it's known for one of a builder or of the image's own", () => {
  const inert = {
    "io.buildah.version": "1",
    "org.opencontainers.image.title": "t",
    "com.docker.official-images.bashbrew.arch": "a",
  };
  assert.equal(findActingAnnotation({}), undefined);
  assert.equal(findActingAnnotation(inert), undefined);
  for (const name of ["run.oci.handler", "org.systemd.property.TasksMax", "io.podman.annotations.init", "io.buildahx", "", "x"]) {
    assert.equal(findActingAnnotation({ ...inert, [name]: "" }), name);
  }
});
