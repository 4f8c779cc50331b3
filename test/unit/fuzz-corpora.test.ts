/** Verifies the parsers with the kept inputs of fuzzing: seeds that reach their code, and regressions. */
import { describe, expect, it } from 'vitest';
import { corpusInputs } from '../fuzz/parsers/fuzz-parser.ts';
import { faultOf } from '../fuzz/parsers/parser-target.ts';
import { allTargets } from '../fuzz/parsers/targets/all-targets.ts';

describe.each(allTargets)('the parser $name', (target) => {
  const inputs = corpusInputs(target.name);

  it('has kept inputs', () => {
    expect(inputs.length).toBeGreaterThan(0);
  });

  it.each(inputs)('keeps its guarantees with $name', async ({ bytes }) => {
    expect(await faultOf(target, bytes)).toBe(null);
  });
});
