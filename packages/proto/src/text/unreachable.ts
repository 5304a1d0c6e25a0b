/** The end of every exhaustive switch. */

/**
 * Never returns: reaching it means that a union has a member which its switch doesn't handle.
 *
 * @throws {TypeError} always
 */
export function unreachable(value: never): never {
  throw new TypeError(`unreachable case: ${typeof value}`);
}
