/** Who is where in the tests' small internet. */

/** Each belongs to the namespace's own loopback device: nothing that is sent there leaves the machine. */
export const ADDRESSES = {
  web: "93.184.215.14",
  names: "93.184.215.53",
  private: "10.1.2.3",
  metadata: "169.254.169.254",
} as const;

/** What each name resolves to; others don't exist. */
export const NAMES: Readonly<Record<string, readonly string[]>> = {
  "web.example.com": [ADDRESSES.web],
  "other.example.com": [ADDRESSES.web],
  "private.example.com": [ADDRESSES.private],
  "metadata.example.com": [ADDRESSES.metadata],
  "mixed.example.com": [ADDRESSES.private, ADDRESSES.web, ADDRESSES.metadata],
};
