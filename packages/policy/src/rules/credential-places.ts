/** Where keys and passwords lie on most machines: secret unless the owner says otherwise, and hidden from every box whose grant doesn't name them. */
import { AbsPath } from "@boxmaker/proto";

/** Relative paths of one or more components, wherever they stand in a tree. */
export const CREDENTIAL_PLACES: readonly string[] = [
  ".ssh",
  ".gnupg",
  ".aws",
  ".azure",
  ".kube",
  ".docker/config.json",
  ".netrc",
  ".pgpass",
  ".my.cnf",
  ".npmrc",
  ".pypirc",
  ".git-credentials",
  ".env",
  ".env.local",
  ".password-store",
  ".vault-token",
  ".mozilla",
  ".thunderbird",
  ".config/chromium",
  ".config/google-chrome",
  ".config/microsoft-edge",
  ".config/BraveSoftware",
  ".config/gh",
  ".config/gcloud",
  ".config/git/credentials",
  ".config/op",
  ".config/rclone",
  ".config/sops",
  ".config/containers/auth.json",
  ".config/keepassxc",
  ".cargo/credentials",
  ".cargo/credentials.toml",
  ".local/share/keyrings",
  ".local/share/kwalletd",
  ".terraform.d/credentials.tfrc.json",
];

const PLACE_COMPONENTS = CREDENTIAL_PLACES.map((place) => place.split("/"));

/** The outermost credential place that holds the path (or is it), if any. */
export function credentialPlaceOf(path: AbsPath): AbsPath | undefined {
  const components = path.slice(1).split("/");
  for (let start = 0; start < components.length; start++) {
    for (const place of PLACE_COMPONENTS) {
      if (place.every((component, index) => components[start + index] === component)) {
        return AbsPath.parse(`/${components.slice(0, start + place.length).join("/")}`);
      }
    }
  }
  return undefined;
}

const MAX_REMEMBERED = 10_000;
const remembered = new Map<AbsPath, readonly AbsPath[]>();

/** The credential places directly below a folder, whether they exist or not. Remembered, since each decision asks for its mounts again. */
export function credentialPlacesBelow(folder: AbsPath): readonly AbsPath[] {
  const known = remembered.get(folder);
  if (known !== undefined) return known;
  const places = CREDENTIAL_PLACES.map((place) => AbsPath.safeParse(`${folder}/${place}`)).flatMap((path) =>
    path.success ? [path.data] : [],
  );
  if (remembered.size >= MAX_REMEMBERED) remembered.clear();
  remembered.set(folder, places);
  return places;
}
