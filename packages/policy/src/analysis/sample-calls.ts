/**
 * Calls that stand for all calls: what a set of grants says about a call depends on the named place that it's about and on the
 * predicates that hold for its arguments, and of both there are finitely many.
 */
import {
  AbsPath,
  Host,
  type HostPattern,
  holdsPath,
  matchesHost,
  parseShape,
  ToolCall,
  ToolName,
  unreachable,
} from "@boxmaker/proto";
import { credentialPlaceOf } from "../rules/credential-places.ts";
import type { Grant } from "../rules/grant.ts";
import type { Predicate } from "../rules/predicate.ts";
import { fillerFor, namedTexts, sampleTexts } from "./sample-texts.ts";

/** A call and, for a reader, the calls that it stands for: `/srv/notes/…`, `*.example.com`, `no cwd`. */
export interface SampleCall {
  readonly call: ToolCall;
  readonly target: string;
  /** The target that this one is a special case of: where the same is said of both, a reader needs the other one alone. */
  readonly broader: string | null;
}

/** A value of one argument, and how it is shown. */
interface Sample {
  readonly value: string | undefined;
  readonly target: string;
  readonly broader?: string;
}

const MAX_TEXT_BYTES = 512 * 1024;
const MAX_URL_BYTES = 8192;
const HOST_LETTERS = "xyzabcdefghijklmnopqrstuvw".split("");
const ELLIPSIS = "…";
const ANY_OTHER = "any other path";

function predicatesOn(grants: readonly Grant[], argument: string): readonly Predicate[] {
  return grants.flatMap(({ args }) => args.get(argument) ?? []);
}

/** A component that no place has, so that a path with it lies below its parent and nowhere else. */
function freshComponent(places: readonly AbsPath[]): string {
  const known = new Set(places.flatMap((place) => place.split("/")));
  for (let count = 0; ; count++) {
    const name = count === 0 ? "sample" : `sample-${count}`;
    if (!known.has(name)) return name;
  }
}

/** Each place itself, something below it, and a path that lies nowhere. */
function samplePaths(places: readonly AbsPath[], fresh: string): readonly Sample[] {
  const samples = places.flatMap((place): readonly Sample[] => [
    { value: place, target: place },
    { value: `${place}/${fresh}`, target: `${place}/${ELLIPSIS}` },
  ]);
  return [...samples, { value: `/${fresh}/${fresh}`, target: ANY_OTHER }].filter(({ value }) => AbsPath.safeParse(value).success);
}

/** A credential place below each place that isn't in one, and one that lies nowhere: what is read there is secret. */
function sampleCredentials(places: readonly AbsPath[], fresh: string): readonly Sample[] {
  const below = places
    .filter((place) => credentialPlaceOf(place) === undefined)
    .map((place) => ({ value: `${place}/${fresh}/.ssh`, broader: `${place}/${ELLIPSIS}` }));
  const elsewhere = { value: `/${fresh}/.ssh`, broader: ANY_OTHER };
  return [...below, elsewhere]
    .filter(({ value }) => AbsPath.safeParse(value).success)
    .map((sample) => ({ ...sample, target: `${sample.broader} (credentials)` }));
}

/** The predicates on an argument that hold where the path is; all of them where there is none. */
function predicatesAt(grants: readonly Grant[], path: string | undefined, argument: string): readonly Predicate[] {
  const at = AbsPath.safeParse(path).data;
  const there = at === undefined ? grants : grants.filter((grant) => grant.paths.some((place) => holdsPath(place, at)));
  return predicatesOn(there, argument);
}

function shorten(text: string): string {
  return text.length <= 40 ? text : `${text.slice(0, 39)}${ELLIPSIS}`;
}

/** Beside each path, one text of each kind that the grants there tell apart. */
function withTexts(
  grants: readonly Grant[],
  tool: ToolName,
  paths: readonly Sample[],
  argument: string,
  other: string,
): readonly (readonly [Sample, Sample])[] {
  const telling = grants.filter((grant) => grant.tool === tool && grant.args.has(argument));
  return paths.flatMap((path) => {
    const predicates = predicatesAt(telling, path.value, argument);
    return sampleTexts(predicates, other, MAX_TEXT_BYTES).map((text): readonly [Sample, Sample] => {
      const detail =
        predicates.length === 0 ? "" : `, ${argument} ${text === other ? "of any other kind" : JSON.stringify(shorten(text))}`;
      const broader = path.broader === undefined ? {} : { broader: `${path.broader}${detail}` };
      return [path, { value: text, target: `${path.target}${detail}`, ...broader }];
    });
  });
}

/** A label that no name has. */
function freshLabel(labels: ReadonlySet<string>): string {
  let fresh = "sample";
  while (labels.has(fresh)) fresh += "x";
  return fresh;
}

/** A host of each kind: each one that is named, one for each pattern, and one that nothing names. */
function sampleHosts(patterns: readonly HostPattern[], urls: readonly string[]): readonly Sample[] {
  const named = [...patterns, ...urls.flatMap((url) => (URL.canParse(url) ? [new URL(url).hostname] : []))];
  const labels = new Set(named.flatMap((name) => name.split(".")));
  // As short as a name can be: what a grant says of a host may end at a length of its URLs.
  const fresh = HOST_LETTERS.find((letter) => !labels.has(letter)) ?? freshLabel(labels);
  const samples = [...new Set(named)].map(
    (name): Sample => ({ value: name.startsWith("*.") ? `${fresh}${name.slice(1)}` : name, target: name }),
  );
  return [...samples, { value: `${fresh}.invalid`, target: "any other host" }];
}

function sampleUrls(grants: readonly Grant[]): readonly Sample[] {
  const fetching = grants.filter(({ tool }) => tool === "http_fetch");
  const urls = namedTexts(predicatesOn(fetching, "url"));
  return sampleHosts(
    fetching.flatMap(({ hosts }) => hosts),
    urls,
  ).flatMap(({ value: host = "", target }): readonly Sample[] => {
    const name = Host.safeParse(host).data;
    const there = name === undefined ? [] : fetching.filter(({ hosts }) => hosts.some((pattern) => matchesHost(pattern, name)));
    const predicates = predicatesOn(there, "url");
    const plain = `https://${host}/`;
    if (predicates.length === 0) return [{ value: plain, target }];
    // Only what is on this host is a sample of it: the rest comes with its own.
    const own = predicates.map(({ in: values, prefix, maxlen }) => ({
      ...(values === undefined ? {} : { in: values.filter((url) => isOn(url, host)) }),
      ...(prefix === undefined || !isOn(prefix, host) ? {} : { prefix }),
      ...(maxlen === undefined ? {} : { maxlen }),
    }));
    const filler = fillerFor(urls);
    const others = [plain, `http://${host}/`].flatMap((other) => [`${other}${filler}`, other]);
    return others.flatMap((other) =>
      sampleTexts(own, other, MAX_URL_BYTES).map((url) => ({
        value: url,
        target: url === `${plain}${filler}` ? `${target}, any other URL` : shorten(url),
      })),
    );
  });
}

function isOn(url: string, host: string): boolean {
  return URL.canParse(url) && new URL(url).hostname === host;
}

/** Every place that a grant or a predicate on a path names, and the further ones given. */
function placesOf(grants: readonly Grant[], further: readonly AbsPath[]): readonly AbsPath[] {
  const predicates = [...predicatesOn(grants, "path"), ...predicatesOn(grants, "cwd")];
  const named = namedTexts(predicates).flatMap((text) => AbsPath.safeParse(text).data ?? []);
  return [...new Set([...grants.flatMap(({ paths }) => paths), ...named, ...further])].toSorted();
}

function isDefined<T>(value: T | undefined): value is T {
  return value !== undefined;
}

function sampleOf(
  tool: ToolName,
  values: Readonly<Record<string, string | undefined>>,
  { target, broader = null }: { readonly target: string; readonly broader?: string | null },
): SampleCall | undefined {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  const parsed = parseShape(ToolCall, { tool, arguments: Object.fromEntries(given) });
  return parsed.kind === "ok" ? { call: parsed.value, target, broader } : undefined;
}

function samplesOf(tool: ToolName, grants: readonly Grant[], places: readonly AbsPath[]): readonly (SampleCall | undefined)[] {
  const fresh = freshComponent(places);
  const paths = samplePaths(places, fresh);
  switch (tool) {
    case "read_file":
      return [...paths, ...sampleCredentials(places, fresh)].map((path) => sampleOf(tool, { path: path.value }, path));
    case "write_file":
      return withTexts(grants, tool, [...paths, { value: `/${fresh}`, target: "right below /" }], "content", "").map(
        ([path, content]) => sampleOf(tool, { path: path.value, content: content.value }, content),
      );
    case "shell": {
      const folders = [{ value: undefined, target: "no cwd" }, ...paths, ...sampleCredentials(places, fresh)];
      return withTexts(grants, tool, folders, "command", "!").map(([cwd, command]) =>
        sampleOf(tool, { cwd: cwd.value, command: command.value }, command),
      );
    }
    case "http_fetch":
      return sampleUrls(grants).map((url) => sampleOf(tool, { url: url.value }, url));
    default:
      return unreachable(tool);
  }
}

/**
 * Calls of every tool, so that each call there is has the same grants speak about it as one of these.
 *
 * @param further places beside those that the grants name, which are to be told apart too
 */
export function sampleCalls(grants: readonly Grant[], further: readonly AbsPath[] = []): readonly SampleCall[] {
  const places = placesOf(grants, further);
  return ToolName.options.flatMap((tool) => samplesOf(tool, grants, places)).filter(isDefined);
}
