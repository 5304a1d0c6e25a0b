/** Patterns of shapes: what they can't express they refuse to make. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { z } from "zod";
import { canonicalPattern } from "../../src/json/canonical-pattern.ts";

const NONE = { known: new Map<z.core.$ZodType, string>() };

test("a schema whose checks no pattern can express is refused", () => {
  const code = z.string().refine((text) => text !== "x", "not x");
  const refused = [
    code,
    z.string().min(2),
    z.string().regex(/a/u),
    z.array(z.boolean()).max(3),
    z.union([z.literal("a"), z.literal("b")]).refine(() => true, "never"),
    z.strictObject({ a: code }),
    z.strictObject({ a: z.boolean() }).refine(() => true, "never"),
    z.object({ a: z.boolean() }),
    z.looseObject({ a: z.boolean() }),
    z.number(),
    z.int(),
    z.int().min(0).max(10),
    z.int().min(2).max(Number.MAX_SAFE_INTEGER),
    z.int().min(0).max(Number.MAX_SAFE_INTEGER).multipleOf(2),
    z.date(),
    z.record(z.string(), z.boolean()),
    z.boolean().transform((value) => !value),
  ];
  for (const schema of refused) assert.throws(() => canonicalPattern(schema, NONE), TypeError, z.toJSONSchema.name);
  assert.equal(canonicalPattern(code, { known: new Map([[code, '"y"']]) }), '"y"');
});

const Shape = z
  .strictObject({
    first: z.exactOptional(z.int().min(0).max(Number.MAX_SAFE_INTEGER)),
    kind: z.enum(["a", 'b"', "c.d"]),
    list: z.array(z.strictObject({ on: z.boolean() }).readonly()).readonly(),
    text: z.string().nullable(),
    last: z.exactOptional(z.union([z.literal("x"), z.int().min(1).max(Number.MAX_SAFE_INTEGER)])),
  })
  .readonly();

const rarely = (usual: fc.Arbitrary<unknown>, other: fc.Arbitrary<unknown>) =>
  fc.oneof({ arbitrary: usual, weight: 9 }, { arbitrary: other, weight: 1 });

const values = fc.record(
  {
    first: rarely(fc.nat(), fc.oneof(fc.maxSafeNat(), fc.double(), fc.string())),
    kind: rarely(fc.constantFrom("a", 'b"', "c.d"), fc.constantFrom("c_d", "b")),
    list: rarely(fc.array(fc.record({ on: fc.boolean() })), fc.array(fc.record({ on: fc.boolean(), off: fc.boolean() }))),
    text: rarely(fc.oneof(fc.string(), fc.constant(null)), fc.string({ unit: "binary" })),
    last: rarely(fc.oneof(fc.constant("x"), fc.nat()), fc.constant("y")),
    more: rarely(fc.constant(undefined), fc.boolean()),
  },
  { requiredKeys: ["kind", "list", "text"] },
);

test("what a pattern matches is a value of the shape in its one spelling", () => {
  const pattern = new RegExp(`^${canonicalPattern(Shape, { ...NONE, captured: "kind" })}$`, "u");
  let matched = 0;
  fc.assert(
    fc.property(values, fc.boolean(), (value, spaced) => {
      const text = spaced ? JSON.stringify(value, null, 1) : JSON.stringify(value);
      const match = pattern.exec(text);
      if (match === null) return;
      matched++;
      const parsed = Shape.parse(JSON.parse(text));
      assert.equal(JSON.stringify(parsed), text);
      assert.equal(match[1], JSON.stringify(parsed.kind));
    }),
    { numRuns: 5000 },
  );
  assert.ok(matched > 100, String(matched));
  for (const text of [
    '{"kind":"a","list":[],"text":null}',
    '{"first":0,"kind":"b\\"","list":[{"on":true},{"on":false}],"text":"x y","last":"x"}',
    '{"kind":"c.d","list":[],"text":"","last":12}',
  ]) {
    assert.equal(pattern.test(text), true, text);
  }
});
