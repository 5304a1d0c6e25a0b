/** Runs a seccomp filter's BPF program on one system call, as the kernel would. */

export interface Call {
  readonly audit: number;
  readonly number: number;
  readonly args: readonly bigint[];
}

/** @returns the program's 32-bit return value */
export function runFilter(program: Buffer, { audit, number, args }: Call): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number, 0);
  data.writeUInt32LE(audit, 4);
  for (const [index, value] of args.entries()) data.writeBigUInt64LE(BigInt.asUintN(64, value), 16 + 8 * index);
  let accumulator = 0;
  for (let index = 0; index * 8 < program.length; index++) {
    const offset = index * 8;
    const value = program.readUInt32LE(offset + 4);
    const jump = (condition: boolean): void => {
      index += program.readUInt8(offset + (condition ? 2 : 3));
    };
    switch (program.readUInt16LE(offset)) {
      case 0x20:
        accumulator = data.readUInt32LE(value);
        break;
      case 0x54:
        accumulator = (accumulator & value) >>> 0;
        break;
      case 0x15:
        jump(accumulator === value);
        break;
      case 0x35:
        jump(accumulator >= value);
        break;
      case 0x45:
        jump((accumulator & value) !== 0);
        break;
      case 0x06:
        return value;
      default:
        throw new Error(`unknown instruction at ${index}`);
    }
  }
  throw new Error("the program ran off its end");
}
