/** The keys that sign checkpoints: made at the first start, kept where only brokerd looks, checked before they are used. */
import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { constants, lstatSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { type AbsPath, quoteText } from "@boxmaker/proto";
import { rawPublicKey, type SignedNote, signNote, type VerifierKey, verifierKey } from "@boxmaker/proto/transparency";
import { makeDirectory } from "./audit-directory.ts";

const KEY = "checkpoint.key";
/** A key that hasn't signed a checkpoint that is on the disk. */
const NEW_KEY = "checkpoint.key.new";
/** The key before it, while its owner keeps it: checkpoints are signed with both, so that who knows the old one learns of the new one. */
const OLD_KEY = "checkpoint-old.key";

const PRIVATE_FILE = 0o600;
const FOREIGN_ACCESS = 0o077;
const FOREIGN_WRITING = 0o022;
const MAX_KEY_BYTES = 4096;
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const WRITE_NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

export type KeysOpening =
  | { readonly kind: "open"; readonly keys: CheckpointKeys }
  | { readonly kind: "refused"; readonly problem: string };

type KeyReading =
  | { readonly kind: "absent" }
  | { readonly kind: "key"; readonly key: KeyObject }
  | { readonly kind: "unusable"; readonly problem: string };

interface KeyParts {
  readonly key: KeyObject;
  readonly old: KeyObject | undefined;
  readonly state: "made" | "kept" | "settled";
}

/** The keys of one box. */
export class CheckpointKeys {
  readonly #directory: AbsPath;
  readonly #key: KeyObject;
  readonly #old: KeyObject | undefined;
  /** `made`: in memory only. `kept`: on the disk, and has signed nothing that is. */
  #state: "made" | "kept" | "settled";

  constructor(directory: AbsPath, { key, old, state }: KeyParts) {
    this.#directory = directory;
    this.#key = key;
    this.#old = old;
    this.#state = state;
  }

  /** Whether a checkpoint was signed at some time, so that one has to be there. */
  get haveSigned(): boolean {
    return this.#state === "settled" || this.#old !== undefined;
  }

  /** The public keys under the name of a tree, the one in force last. */
  verifiers(origin: string): readonly VerifierKey[] {
    return this.#all().map((key) => verifierKey(origin, rawPublicKey(key)));
  }

  /** Signs the text with every key there is, the one in force first. */
  sign(text: string, origin: string): SignedNote {
    return {
      text,
      signatures: this.#all()
        .toReversed()
        .map((key) => signNote(text, origin, key)),
    };
  }

  /** Makes the key durable; before a checkpoint that it signs is. */
  async keep(): Promise<void> {
    if (this.#state !== "made") return;
    await makeDirectory(this.#directory);
    const path = join(this.#directory, NEW_KEY);
    await rm(path, { force: true });
    await using file = await open(path, WRITE_NEW, PRIVATE_FILE);
    await file.writeFile(this.#key.export({ format: "pem", type: "pkcs8" }));
    await file.sync();
    await syncDirectory(this.#directory);
    this.#state = "kept";
  }

  /** A checkpoint of these keys is on the disk now: from here on one has to be there. */
  async settle(): Promise<void> {
    if (this.#state === "settled") return;
    await rename(join(this.#directory, NEW_KEY), join(this.#directory, KEY));
    await syncDirectory(this.#directory);
    this.#state = "settled";
  }

  #all(): readonly KeyObject[] {
    return this.#old === undefined ? [this.#key] : [this.#old, this.#key];
  }
}

/**
 * Opens the keys in `directory`, and makes one where there is none, in memory at first. A key that others can read or replace is
 * refused, as is what isn't one.
 *
 * @throws {Error} when the file system fails
 */
export async function openCheckpointKeys(directory: AbsPath): Promise<KeysOpening> {
  const refuse = (problem: string): KeysOpening => ({
    kind: "refused",
    problem: `cannot use the keys of checkpoints in ${quoteText(directory)}: ${problem}; see docs/runbook.md#checkpoint-key`,
  });
  const found = lstatSync(directory, { throwIfNoEntry: false });
  if (found === undefined) return opened(directory, { key: makeKey(), old: undefined, state: "made" });
  if (!found.isDirectory()) return refuse("it is a link or a file, expected a directory");
  if (found.uid !== process.geteuid?.()) return refuse("the directory is another user's, expected brokerd's own");
  if ((found.mode & FOREIGN_WRITING) !== 0) return refuse("other users can write to the directory, expected mode 0700");
  const [current, old] = [await readKey(directory, KEY), await readKey(directory, OLD_KEY)];
  for (const reading of [current, old]) if (reading.kind === "unusable") return refuse(reading.problem);
  const before = old.kind === "key" ? old.key : undefined;
  if (current.kind === "key") return opened(directory, { key: current.key, old: before, state: "settled" });
  // What a start left that didn't come to its first checkpoint. Half a key has signed nothing, so it may go.
  const begun = await readKey(directory, NEW_KEY);
  return begun.kind === "key"
    ? opened(directory, { key: begun.key, old: before, state: "kept" })
    : opened(directory, { key: makeKey(), old: before, state: "made" });
}

function opened(directory: AbsPath, parts: KeyParts): KeysOpening {
  return { kind: "open", keys: new CheckpointKeys(directory, parts) };
}

function makeKey(): KeyObject {
  return generateKeyPairSync("ed25519").privateKey;
}

async function syncDirectory(directory: AbsPath): Promise<void> {
  await using handle = await open(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  await handle.sync();
}

async function readKey(directory: AbsPath, name: string): Promise<KeyReading> {
  const unusable = (problem: string): KeyReading => ({ kind: "unusable", problem: `${quoteText(name)} ${problem}` });
  const path = join(directory, name);
  const named = lstatSync(path, { throwIfNoEntry: false });
  if (named === undefined) return { kind: "absent" };
  if (!named.isFile()) return unusable("is a link, a folder or a device, expected a file");
  await using file = await open(path, READ);
  // What was opened counts, whatever the name has come to mean since.
  const found = await file.stat();
  if (!found.isFile() || found.size > MAX_KEY_BYTES) return unusable(`is no file of at most ${MAX_KEY_BYTES} bytes`);
  if (found.uid !== process.geteuid?.()) return unusable("is another user's, expected brokerd's own");
  if ((found.mode & FOREIGN_ACCESS) !== 0) return unusable("can be used by other users, expected mode 0600");
  if (found.nlink !== 1) return unusable("has another name too, expected one");
  const bytes = await file.readFile();
  try {
    const key = createPrivateKey({ key: bytes, format: "pem" });
    return key.asymmetricKeyType === "ed25519" ? { kind: "key", key } : unusable("is no Ed25519 key");
  } catch {
    // The message of OpenSSL says nothing that an owner could use.
    return unusable("is no private key in PEM");
  } finally {
    bytes.fill(0);
  }
}
