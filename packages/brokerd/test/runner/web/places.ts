/** Who is where in the tests' small internet. */

/** Each belongs to the namespace's own loopback device: nothing that is sent there leaves the machine. */
export const ADDRESSES = {
  web: "93.184.215.14",
  ipv6: "2606:2800:21f:cb07::14",
  names: "93.184.215.53",
  private: "10.1.2.3",
  unique: "fd00::1",
  metadata: "169.254.169.254",
} as const;

/** What each name resolves to; others don't exist. */
export const NAMES: Readonly<Record<string, readonly string[]>> = {
  "web.example.com": [ADDRESSES.web],
  "other.example.com": [ADDRESSES.web],
  "ipv6.example.com": [ADDRESSES.ipv6],
  "unique.example.com": [ADDRESSES.unique, "::1"],
  "mixed6.example.com": [ADDRESSES.unique, ADDRESSES.ipv6],
  "private.example.com": [ADDRESSES.private],
  "metadata.example.com": [ADDRESSES.metadata],
  "mixed.example.com": [ADDRESSES.private, ADDRESSES.web, ADDRESSES.metadata],
};
