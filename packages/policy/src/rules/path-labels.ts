/** What a call may learn from the paths that it reads, by the labels that earlier writes left on them. */
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

/** A credential place is secret, though nothing of ours has written there. */
function labelOfPlace(path: AbsPath): readonly PathLabel[] {
  const place = credentialPlaceOf(path);
  return place === undefined ? [] : [{ path: place, label: SECRET }];
}

/** Labels of the path, its parents, and everything under it. */
function labelsAround(path: AbsPath, labels: readonly PathLabel[]): readonly PathLabel[] {
  return [...labels.filter((entry) => holdsPath(entry.path, path) || holdsPath(path, entry.path)), ...labelOfPlace(path)];
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
export function labelsRead(call: ToolCall, mounts: readonly Mount[], labels: readonly PathLabel[]): readonly PathLabel[] {
  switch (call.tool) {
    case "read_file":
      return joinByPath(labelsAround(call.arguments.path, labels));
    case "shell":
      return joinByPath(mounts.flatMap((mount) => labelsAround(mount.path, labels)));
    // A write reads nothing, and what is fetched has no path.
    case "write_file":
    case "http_fetch":
      return [];
    default:
      return unreachable(call);
  }
}
