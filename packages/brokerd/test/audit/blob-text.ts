/** What the writing program keeps as a blob, for the tests that need to know the blobs' names. */
export function blobText(index: number): string {
  return `blob ${index} `.repeat(300);
}
