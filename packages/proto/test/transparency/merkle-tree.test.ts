import assert from "node:assert/strict";
import { test } from "node:test";
import { type Hash32, sha256 } from "@boxmaker/proto";
import {
  CompactTree,
  consistencySpans,
  EMPTY_ROOT,
  hashLeaf,
  inclusionSpans,
  isConsistent,
  isIncluded,
  SpanHasher,
} from "@boxmaker/proto/transparency";
import fc from "fast-check";
import { naiveConsistency, naivePath, naiveRoot } from "./naive-tree.ts";

/** The leaves and roots that Certificate Transparency's implementations test each other with. */
const KNOWN_LEAVES = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"].map(
  (hex) => Buffer.from(hex, "hex"),
);
const KNOWN_ROOTS = [
  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
  "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
  "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
  "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
  "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
  "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
  "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
  "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];

function leavesOf(count: number): readonly Buffer[] {
  return Array.from({ length: count }, (_, index) => Buffer.from(`{"seq":${index + 1}}`));
}

function treeOf(leaves: readonly Uint8Array[]): CompactTree {
  const tree = new CompactTree();
  for (const leaf of leaves) tree.push(hashLeaf(leaf));
  return tree;
}

function prove(spans: ReturnType<typeof inclusionSpans>, leaves: readonly Uint8Array[]): readonly Hash32[] {
  const hasher = new SpanHasher(spans);
  for (const leaf of leaves) hasher.push(hashLeaf(leaf));
  return hasher.hashes();
}

function hex(hashes: readonly Buffer[]): readonly string[] {
  return hashes.map((hash) => hash.toString("hex"));
}

test("CompactTree has the roots that RFC 6962's implementations agree on", () => {
  assert.equal(EMPTY_ROOT, KNOWN_ROOTS[0]);
  for (const [size, root] of KNOWN_ROOTS.entries()) assert.equal(treeOf(KNOWN_LEAVES.slice(0, size)).root(), root, `size ${size}`);
});

test("CompactTree has the root of the recursive definition at every size, and goes on from its frontier as before", () => {
  const leaves = leavesOf(130);
  let tree = new CompactTree();
  for (let size = 0; size <= leaves.length; size++) {
    assert.equal(tree.root(), naiveRoot(leaves.slice(0, size)).toString("hex"), `size ${size}`);
    assert.equal(tree.size, size);
    const frontier = tree.frontier();
    tree = CompactTree.from(frontier);
    assert.deepEqual(tree.frontier(), frontier);
    const next = leaves[size];
    if (next !== undefined) tree.push(hashLeaf(next));
  }
});

test("a tree that is put together of parts is the tree of all their leaves, and goes on as it", () => {
  const cuts = fc.array(fc.nat(40), { maxLength: 6 });
  fc.assert(
    fc.property(cuts, fc.nat(5), (sizes, more) => {
      const leaves = leavesOf(sizes.reduce((sum, size) => sum + size, 0));
      const joined = new CompactTree();
      let start = 0;
      for (const size of sizes) {
        const part = new CompactTree(start);
        for (const leaf of leaves.slice(start, start + size)) part.push(hashLeaf(leaf));
        assert.equal(part.size, size);
        joined.append(part.subtrees);
        start += size;
      }
      const whole = treeOf(leaves);
      assert.deepEqual(joined.frontier(), whole.frontier());
      for (const leaf of leavesOf(more)) {
        joined.push(hashLeaf(leaf));
        whole.push(hashLeaf(leaf));
      }
      assert.equal(joined.root(), whole.root());
    }),
  );
});

test("CompactTree refuses a frontier with too many or too few hashes", () => {
  const hash = sha256("x");
  for (const [size, count] of [
    [0, 1],
    [1, 0],
    [3, 1],
    [3, 3],
    [8, 2],
  ] as const) {
    assert.throws(() => CompactTree.from({ size, hashes: Array<Hash32>(count).fill(hash) }), RangeError);
  }
});

test("inclusion and consistency proofs are those of the recursive definition and hold, for all sizes to 65", () => {
  const leaves = leavesOf(65);
  for (let size = 1; size <= leaves.length; size++) {
    const some = leaves.slice(0, size);
    const root = treeOf(some).root();
    for (let index = 0; index < size; index++) {
      const proof = prove(inclusionSpans(index, size), some);
      assert.deepEqual(proof, hex(naivePath(index, some)));
      assert.ok(isIncluded({ index, size, leaf: hashLeaf(some[index] ?? Buffer.of()), root }, proof), `${index} of ${size}`);
      const oldSize = index + 1;
      const history = prove(consistencySpans(oldSize, size), some);
      assert.deepEqual(history, hex(naiveConsistency(oldSize, some)));
      const oldRoot = treeOf(some.slice(0, oldSize)).root();
      assert.ok(isConsistent({ oldSize, oldRoot, newSize: size, newRoot: root }, history), `${oldSize} of ${size}`);
    }
  }
});

test("a proof holds for nothing but its claim: every other index, size, leaf, root or proof is refused", () => {
  const leaves = leavesOf(21);
  const flip = (hash: Hash32): Hash32 => sha256(hash);
  for (const size of [1, 2, 3, 7, 8, 21]) {
    const some = leaves.slice(0, size);
    const root = treeOf(some).root();
    for (let index = 0; index < size; index++) {
      const leaf = hashLeaf(some[index] ?? Buffer.of());
      const proof = prove(inclusionSpans(index, size), some);
      const claim = { index, size, leaf, root };
      for (let other = -1; other <= size; other++)
        if (other !== index) assert.equal(isIncluded({ ...claim, index: other }, proof), false);
      assert.equal(isIncluded({ ...claim, leaf: flip(leaf) }, proof), false);
      assert.equal(isIncluded({ ...claim, root: flip(root) }, proof), false);
      assert.equal(isIncluded(claim, [...proof, leaf]), false);
      assert.equal(isIncluded(claim, proof.slice(1)) && proof.length > 0, false);
      for (const at of proof.keys()) assert.equal(isIncluded(claim, proof.with(at, flip(root))), false);
      const oldSize = index + 1;
      const oldRoot = treeOf(some.slice(0, oldSize)).root();
      const history = prove(consistencySpans(oldSize, size), some);
      const growth = { oldSize, oldRoot, newSize: size, newRoot: root };
      assert.equal(isConsistent({ ...growth, oldRoot: flip(oldRoot) }, history), false);
      assert.equal(isConsistent({ ...growth, newRoot: flip(root) }, history), false);
      assert.equal(isConsistent({ ...growth, oldSize: 0, oldRoot: EMPTY_ROOT }, history), false);
      assert.equal(isConsistent({ ...growth, oldSize: size + 1 }, history), false);
      assert.equal(isConsistent(growth, [...history, root]), false);
      for (const at of history.keys()) assert.equal(isConsistent(growth, history.with(at, flip(root))), false);
      assert.equal(isConsistent(growth, history.slice(1)) && history.length > 0, false);
    }
  }
});

test("a proof's sizes and indexes are whole numbers that exist", () => {
  assert.throws(() => inclusionSpans(3, 3), RangeError);
  assert.throws(() => inclusionSpans(-1, 3), RangeError);
  assert.throws(() => inclusionSpans(0.5, 3), RangeError);
  assert.throws(() => consistencySpans(0, 3), RangeError);
  assert.throws(() => consistencySpans(4, 3), RangeError);
  const root = sha256("x");
  for (const wrong of [Number.NaN, -1, 0.5, 2 ** 53]) {
    assert.equal(isIncluded({ index: 0, size: wrong, leaf: root, root }, []), false);
    assert.equal(isConsistent({ oldSize: wrong, oldRoot: root, newSize: wrong, newRoot: root }, []), false);
  }
});

test("a tree of more than 2^32 leaves, as a frontier describes it, is proved like any other", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 50 }), fc.integer({ min: 1, max: 2 ** 50 }), (at, extra) => {
      const size = at + extra;
      const inclusion = inclusionSpans(at, size);
      const leafLess = inclusion.reduce((sum, { begin, end }) => sum + (end - begin), 0);
      assert.equal(leafLess, size - 1);
      const oldSize = at + 1;
      const consistency = consistencySpans(oldSize, size);
      const sum = consistency.reduce((total, { begin, end }) => total + (end - begin), 0);
      const isBeginning = /^10*$/u.test(oldSize.toString(2));
      assert.equal(sum, oldSize === size ? 0 : isBeginning ? size - oldSize : sum);
    }),
  );
});

test("SpanHasher says when leaves are missing", () => {
  const hasher = new SpanHasher(inclusionSpans(0, 4));
  hasher.push(hashLeaf(Buffer.of(1)));
  hasher.push(hashLeaf(Buffer.of(2)));
  assert.throws(() => hasher.hashes(), RangeError);
});
