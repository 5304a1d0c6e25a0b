/** Which annotations of an image may have an effect: podman hands all of them on to the OCI runtime, and has no flag against it. */

/** Those for people and builders; OCI runtimes act on others (`run.oci.…`, `org.systemd.property.…`). */
const INERT = /^(?:com\.docker\.official-images|io\.buildah|org\.opencontainers\.image)\./u;

/** The name of the first annotation that may mean something to an OCI runtime: an image that has one isn't run. */
export function findActingAnnotation(annotations: Readonly<Record<string, string>>): string | undefined {
  return Object.keys(annotations).find((name) => !INERT.test(name));
}
