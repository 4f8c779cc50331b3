/** Verifies what callers may use and see of a server whose lists differ from the approved definitions. */
import { describe, expect, it } from 'vitest';
import { ServerPins } from '../../../src/mcp/pins/server-pins.ts';
import { readDefinition } from '../../../src/model/mcp/definition.ts';
import type { McpCapabilityType } from '../../../src/model/mcp/mcp-integration.ts';

const tool = { name: 'a', description: 'A' };
const template = { name: 't', uriTemplate: 'x://{id}', description: 'T' };
const digestsOf = (type: McpCapabilityType, item: object) => {
  const { name, digest } = readDefinition(type, item)!;
  return { type, name, approved_digest: digest, seen_digest: digest };
};
const pinsOf = (policy: 'observe' | 'hide' = 'hide') =>
  new ServerPins({
    policy,
    isTaken: true,
    digests: [digestsOf('tool', tool), digestsOf('resource_template', template)],
  });

describe('a list', () => {
  it('passes as the same object while every definition is approved', () => {
    const pins = pinsOf();
    const result = { tools: [tool], other: 1 };
    expect(pins.examine(result)).toEqual({ result, seen: [] });
    expect(pins.examine(result).result).toBe(result);
  });

  it('loses items that cannot be pinned', () => {
    const tools = [tool, { description: 'nameless' }, null, 'a'];
    expect(pinsOf().examine({ tools }).result).toEqual({ tools: [tool] });
    expect(pinsOf('observe').examine({ tools }).result).toEqual({ tools });
  });

  it('reports each definition once', () => {
    const pins = pinsOf();
    const changed = { tools: [{ ...tool, description: 'B' }] };
    expect(pins.examine(changed).seen).toHaveLength(1);
    expect(pins.examine(changed).seen).toEqual([]);
    expect(pins.refusalOf({ type: 'tool', name: 'a' })).toBe('drifted');
    expect(pins.examine({ tools: [tool] }).seen).toHaveLength(1);
    expect(pins.refusalOf({ type: 'tool', name: 'a' })).toBeNull();
  });

  it('is remembered up to a bound, without loss for approved definitions', () => {
    const pins = pinsOf();
    let reported = 0;
    for (let list = 0; list < 30; list += 1) {
      const tools = Array.from({ length: 1000 }, (_, at) => ({ name: `new ${list} ${at}` }));
      reported += pins.examine({ tools }).seen.length;
    }
    expect(reported).toBeLessThanOrEqual(20_000);
    expect(pins.examine({ tools: [{ ...tool, description: 'B' }] }).seen).toHaveLength(1);
  });
});

describe('a use', () => {
  it('is refused for a changed template, by its address', () => {
    const pins = pinsOf();
    const named = { type: 'resource', name: template.uriTemplate } as const;
    expect(pins.refusalOf(named)).toBeNull();
    pins.examine({ resourceTemplates: [{ ...template, description: 'B' }] });
    expect(pins.refusalOf(named)).toBe('drifted');
    expect(pins.refusalOf({ type: 'resource', name: 'x://7' })).toBeNull();
  });

  it('is never refused while definitions are observed', () => {
    const pins = pinsOf('observe');
    pins.examine({ tools: [{ ...tool, description: 'B' }] });
    expect(pins.refusalOf({ type: 'tool', name: 'a' })).toBeNull();
    expect(pins.refusalOf({ type: 'tool', name: 'none' })).toBeNull();
  });

  it('changes the mark of a list only where callers see another one', () => {
    const hide = pinsOf();
    const drifted = new ServerPins({
      policy: 'hide',
      isTaken: true,
      digests: [{ ...digestsOf('tool', tool), seen_digest: 'sha256:other' }],
    });
    expect(hide.visibleMark('tool')).not.toBe(drifted.visibleMark('tool'));
    expect(hide.visibleMark('prompt')).toBe(drifted.visibleMark('prompt'));
    expect(pinsOf('observe').visibleMark('tool')).toBe('');
  });
});
