/** What a call may learn from the paths that it reads, by the labels that earlier writes left on them and those that the owner gave them. */
import {
  type AbsPath,
  holdsPath,
  joinLabel,
  type Label,
  type Mount,
  type PathLabel,
  type ToolCall,
  unreachable,
} from "@boxmaker/proto";
import { credentialPlaceOf } from "./credential-places.ts";

const SECRET: Label = Object.freeze({ taint: "secret", untrusted: false });

/** The owner's label of a tree. */
export interface TreeLabel extends PathLabel {
  /** The owner says nothing of its class, only that strangers' words lie there: then it takes no class back. */
  readonly isClassUnsaid?: true;
}

/** What the owner says of a place: what a broader tree says isn't about the credentials in it. */
function isSaidOtherwise(place: AbsPath, path: AbsPath, owner: readonly TreeLabel[]): boolean {
  const telling = owner.filter(({ isClassUnsaid }) => isClassUnsaid !== true);
  return telling.some((tree) => holdsPath(place, tree.path) && holdsPath(tree.path, path));
}

/** A credential place is secret, though nothing of ours has written there, unless the owner says otherwise. */
function labelOfPlace(path: AbsPath, owner: readonly TreeLabel[]): readonly PathLabel[] {
  const place = credentialPlaceOf(path);
  return place === undefined || isSaidOtherwise(place, path, owner) ? [] : [{ path: place, label: SECRET }];
}

/** Labels of the path, its parents, and everything under it. */
function labelsAround(path: AbsPath, labels: readonly PathLabel[]): readonly PathLabel[] {
  return labels.filter((entry) => holdsPath(entry.path, path) || holdsPath(path, entry.path));
}

/** What the owner says of a path, its parents and everything under it, with what holds of credential places. */
export function ownerLabels(path: AbsPath, owner: readonly TreeLabel[]): readonly PathLabel[] {
  return [...labelsAround(path, owner), ...labelOfPlace(path, owner)];
}

/** One entry a path: two mounts see a labelled parent twice, and a credential place may have a label of its own beside. */
function joinByPath(entries: readonly PathLabel[]): readonly PathLabel[] {
  const joined = new Map<AbsPath, Label>();
  for (const { path, label } of entries) joined.set(path, joinLabel(joined.get(path) ?? label, label));
  return [...joined].map(([path, label]) => ({ path, label }));
}

/**
 * The labels that a call's results must take in. What lies under a mount counts even where it is masked: a deny masks what it names,
 * and a label that went away with it would let a call through that was denied for its audience.
 */
export function labelsRead(
  call: ToolCall,
  mounts: readonly Mount[],
  labels: readonly PathLabel[],
  owner: readonly TreeLabel[],
): readonly PathLabel[] {
  const around = (path: AbsPath): readonly PathLabel[] => [...labelsAround(path, labels), ...ownerLabels(path, owner)];
  switch (call.tool) {
    case "read_file":
      return joinByPath(around(call.arguments.path));
    case "shell":
      return joinByPath(mounts.flatMap((mount) => around(mount.path)));
    // A write reads nothing, and what is fetched has no path.
    case "write_file":
    case "http_fetch":
      return [];
    default:
      return unreachable(call);
  }
}
