/** Verifies that every promise of src that nothing awaits has an owner, which `detach` gives it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parseSync } from 'rolldown/utils';
import { describe, expect, it } from 'vitest';

/** Biome's rule noFloatingPromises reports promises without `void`; this test reports those with it. */
const root = resolve(import.meta.dirname, '../../src');

interface Node {
  readonly type: string;
  readonly start: number;
  readonly [field: string]: unknown;
}

const sources = readdirSync(root, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => join(entry.parentPath, entry.name))
  .map((file) => {
    const text = readFileSync(file, 'utf8');
    return { file: relative(root, file), text, nodes: nodesIn(parseSync(file, text).program) };
  });

function nodesIn(program: unknown): Node[] {
  const nodes: Node[] = [];
  const pending = [program];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value !== 'object' || value === null) continue;
    if (typeof (value as Partial<Node>).type === 'string') nodes.push(value as Node);
    pending.push(...Object.values(value));
  }
  return nodes;
}

function nameOf(node: unknown): string {
  const { type, name, property, expression, id } = (node ?? {}) as Partial<Record<string, unknown>>;
  if (type === 'Identifier' || type === 'PrivateIdentifier') return String(name);
  return property || expression || id ? nameOf(property ?? expression ?? id) : '';
}

function isPromise(returnType: unknown): boolean {
  const { typeAnnotation } = (returnType ?? {}) as { typeAnnotation?: { typeName?: unknown } };
  return nameOf(typeAnnotation?.typeName) === 'Promise';
}

function isAsync(node: unknown): boolean {
  const { async: declared, returnType } = (node ?? {}) as Partial<Node>;
  return declared === true || isPromise(returnType);
}

/** Names of all functions, methods and variables in src that return promises. */
function asyncNames(): Set<string> {
  const names = new Set(['then', 'catch', 'finally', 'close', 'terminate']);
  for (const node of sources.flatMap(({ nodes }) => nodes)) {
    if (isAsync(node)) names.add(nameOf(node.id));
    if (isAsync(node.value)) names.add(nameOf(node.key));
    if (isAsync(node.init)) names.add(nameOf(node.id));
  }
  for (const name of ['', ...synchronous]) names.delete(name);
  return names;
}

/** Methods of Node and of collections that return no promise, although methods of ours with their names do. */
const synchronous = ['delete', 'destroy', 'kill', 'write'];

const names = asyncNames();

/** Files whose listeners are awaited by what calls them, or whose failure ends a thread that reports it. */
const awaited = [
  'objects/ingestion/reading-thread.ts',
  'proposals/planning/planning-thread.ts',
  'store/migrations/migration-lock.ts',
];

/** Callbacks whose result nothing looks at. */
const listeners = /^(on|once|addListener|setTimeout|setInterval|setImmediate|queueMicrotask)$/;

function isOwnerless(node: Node): boolean {
  if (node.type === 'UnaryExpression' && node.operator === 'void') {
    const argument = node.argument as Node;
    const called = argument.type === 'ChainExpression' ? argument.expression : argument;
    const { type, callee } = called as Node;
    return type === 'CallExpression' && names.has(nameOf(callee));
  }
  if (node.type === 'NewExpression') {
    return nameOf(node.callee) === 'Promise' && (node.arguments as Node[]).some(isAsync);
  }
  if (node.type !== 'CallExpression' || !listeners.test(nameOf(node.callee))) return false;
  return (node.arguments as Node[]).some(({ async: declared }) => declared === true);
}

describe('the owner of detached promises', () => {
  it('exists in every file of src', () => {
    const found = sources
      .filter(({ file }) => !awaited.includes(file))
      .flatMap(({ file, text, nodes }) =>
        nodes
          .filter(isOwnerless)
          .map(({ start }) => `${file}:${text.slice(0, start).split('\n').length}`),
      );
    expect(found).toEqual([]);
  });

  it.each([
    'void serve();',
    'void this.#serveRequest();',
    'void served.then(next);',
    'void pool?.close();',
    "server.on('request', async () => serve());",
    'setTimeout(async () => serve(), 1);',
    'new Promise(async (resolve) => resolve(await serve()));',
  ])('is found missing in %s', (statement) => {
    const text = `class A { async #serveRequest() {} run() { ${statement} } }`;
    expect(nodesIn(parseSync('a.ts', text).program).filter(isOwnerless)).toHaveLength(1);
  });
});
