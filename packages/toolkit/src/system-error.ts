/** What the kernel says, in the tools' words. */

const WORDS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EBUSY: "mounted by itself, so it can't be replaced",
  EDQUOT: "no space left",
  EEXIST: "already there",
  EFBIG: "too large for the file system",
  EIO: "input/output error",
  EISDIR: "is a directory",
  ELOOP: "is a symbolic link",
  ENAMETOOLONG: "name too long",
  ENOENT: "no such file",
  ENOSPC: "no space left",
  ENOTDIR: "not a directory",
  EPERM: "not permitted",
  EROFS: "read-only",
  ERR_ACCESS_DENIED: "permission denied",
};

/** The `code` of an error that Node threw, or undefined. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/**
 * One phrase for an error of a file operation.
 *
 * @throws the error itself, when it isn't one of the kernel's: then it's a bug
 */
export function describeError(error: unknown): string {
  const code = errorCode(error);
  if (code === undefined) throw error;
  return WORDS[code] ?? `failed with ${code}`;
}
