/** Verifies which spellings of disabled resources are recognised, and which responses say that a name is unknown. */
import { describe, expect, it } from 'vitest';
import {
  CapabilityRules,
  type KnownCapability,
} from '../../../src/mcp/messages/capability-rules.ts';
import { saysUnknown } from '../../../src/mcp/messages/unknown-capability.ts';

function known(fields: Partial<KnownCapability>): KnownCapability {
  const base = { type: 'resource', name: 'x', isEnabled: false, uri: null, uriTemplate: null };
  return { ...base, ...fields } as KnownCapability;
}

describe('the set of rules of a server', () => {
  const rules = new CapabilityRules([
    known({ name: 'secret', uri: 'file:///data/secret' }),
    known({ type: 'resource_template', name: 'notes', uriTemplate: 'note://{+id}/text' }),
    known({ name: 'open', uri: 'note://open/text', isEnabled: true }),
    known({ type: 'tool', name: 'drop' }),
    known({ type: 'tool', name: 'Drop', isEnabled: true }),
  ]);

  it.each([
    'file:///data/secret',
    'FILE:///data/secret',
    'file:///data/%73ecret',
    'file:///data/%2573ecret',
    'file:///data/../data/secret',
    ' file:///data/secret',
    'note://a/b/text',
    'NOTE://17/TEXT',
  ])('recognises %s as disabled', (name) => {
    expect(rules.isDisabled({ type: 'resource', name })).toBe(true);
  });

  it.each(['file:///data/secrets', 'note://17/body', 'note://open/text', 'secretly'])(
    'lets %s pass',
    (name) => {
      expect(rules.isDisabled({ type: 'resource', name })).toBe(false);
    },
  );

  it('recognises other spellings of a disabled tool, except those of an enabled one', () => {
    const isDisabled = (name: string) => rules.isDisabled({ type: 'tool', name });
    expect(['drop', 'DROP', ' drop ', 'ｄrop'].filter(isDisabled)).toHaveLength(4);
    expect(['Drop', 'drops', 'secret'].filter(isDisabled)).toEqual([]);
  });

  it('shortens a list with disabled items, and returns any other as it is', () => {
    const result = { resources: [{ name: 'secret' }, { name: 'other' }] };
    expect(rules.filter(result)).toEqual({ resources: [{ name: 'other' }] });
    const other = { resources: [{ name: 'other' }] };
    expect(rules.filter(other)).toBe(other);
  });
});

describe('a response', () => {
  const named = { type: 'tool', name: 'drop' } as const;
  const error = (message: string, code = -32602) => ({ error: { code, message } });
  const result = (text: string) => ({
    result: { isError: true, content: [{ type: 'text', text }] },
  });

  it.each([
    error('Tool drop not found'),
    error('MCP error -32602: Tool drop not found'),
    error('Unknown tool: drop'),
    error("Tool 'drop' is not available."),
    result('MCP error -32602: Tool drop disabled'),
    result('Unknown tool: drop'),
  ])('says that the tool is unknown: %j', (message) => {
    expect(saysUnknown(message, named)).toBe(true);
  });

  it.each([
    error('Invalid arguments for tool drop: [text is missing]'),
    error('Tool drop not found', -32000),
    error('Tool other not found'),
    result('the table drop was not found in the tool'),
    { result: { content: [{ type: 'text', text: 'Tool drop not found' }] } },
  ])('does not say so: %j', (message) => {
    expect(saysUnknown(message, named)).toBe(false);
  });
});
