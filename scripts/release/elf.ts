/** Reads from ELF files which machine they are for and which libraries they load. */

export interface ElfFacts {
  /** Value of `e_machine`: 62 for x86-64, 183 for aarch64. */
  readonly machine: number;
  /** Path of the program's loader; null for libraries and static programs. */
  readonly interpreter: string | null;
  /** Names of the libraries that the file loads: `libc.so.6`. */
  readonly needed: readonly string[];
}

export const elfMachines = { amd64: 62, arm64: 183 } as const;

const header = { class: 4, data: 5, machine: 18, programsAt: 32, programSize: 54, programs: 56 };
const programTypes = { load: 1, dynamic: 2, interpreter: 3 };
const dynamicTags = { end: 0, needed: 1, strings: 5 };
const dynamicEntryBytes = 16;

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
}

/**
 * Returns null for files that are not ELF.
 *
 * @throws Error for ELF files of another kind than 64 bits, little-endian
 */
export function readElf(bytes: Buffer): ElfFacts | null {
  if (bytes.length < 64 || bytes.toString('latin1', 0, 4) !== '\x7fELF') return null;
  if (bytes[header.class] !== 2 || bytes[header.data] !== 1) {
    throw new Error('this ELF file is not of 64 bits and little-endian');
  }
  const segments = readSegments(bytes);
  const interpreter = segments.find(({ type }) => type === programTypes.interpreter);
  return {
    machine: bytes.readUInt16LE(header.machine),
    interpreter: interpreter === undefined ? null : textAt(bytes, interpreter.offset),
    needed: readNeeded(bytes, segments),
  };
}

function readSegments(bytes: Buffer): Segment[] {
  const start = Number(bytes.readBigUInt64LE(header.programsAt));
  const size = bytes.readUInt16LE(header.programSize);
  return Array.from({ length: bytes.readUInt16LE(header.programs) }, (_, index) => {
    const at = start + index * size;
    return {
      type: bytes.readUInt32LE(at),
      offset: Number(bytes.readBigUInt64LE(at + 8)),
      address: Number(bytes.readBigUInt64LE(at + 16)),
      size: Number(bytes.readBigUInt64LE(at + 32)),
    };
  });
}

function readNeeded(bytes: Buffer, segments: readonly Segment[]): string[] {
  const dynamic = segments.find(({ type }) => type === programTypes.dynamic);
  if (dynamic === undefined) return [];
  const names: number[] = [];
  let strings = 0;
  for (let at = dynamic.offset; at < dynamic.offset + dynamic.size; at += dynamicEntryBytes) {
    const tag = Number(bytes.readBigUInt64LE(at));
    const value = Number(bytes.readBigUInt64LE(at + 8));
    if (tag === dynamicTags.end) break;
    if (tag === dynamicTags.needed) names.push(value);
    if (tag === dynamicTags.strings) strings = fileOffset(segments, value);
  }
  return names.map((name) => textAt(bytes, strings + name));
}

function fileOffset(segments: readonly Segment[], address: number): number {
  const segment = segments.find(
    (one) =>
      one.type === programTypes.load && address >= one.address && address < one.address + one.size,
  );
  if (segment === undefined) throw new Error('this ELF file names strings that it does not load');
  return address - segment.address + segment.offset;
}

function textAt(bytes: Buffer, start: number): string {
  return bytes.toString('latin1', start, bytes.indexOf(0, start));
}
