/** Translates the tools of a responses request to functions of a chat. */
import { copyMembers } from '../documents/copy-members.ts';
import type { DocumentNode, Json } from '../documents/document-node.ts';
import type { MemberRules } from '../documents/member-rules.ts';
import { customToolDescription, customToolParameters } from '../translation/custom-tools.ts';
import * as rules from './response-rules.ts';
import { functionName, toolSearchName } from './tool-names.ts';

/** The namespace of tools, and what it says about them. */
interface Namespace {
  readonly name: string;
  readonly description: string;
}

/** Translates the tools of a request and those that its items bring along; a later tool replaces one of its name. */
export function toolingOf(request: DocumentNode): Json {
  const functions = new Map<string, Json>();
  const lists = toolLists(request);
  const isOptional = isUnforced(request.at('tool_choice')) && lists.some(hasToolOfCaller);
  for (const tools of lists) addTools(functions, tools, { namespace: null, isOptional });
  if (functions.size === 0) return {};
  const list = [...functions.values()].map((definition) => ({
    type: 'function',
    function: definition,
  }));
  const choice = choiceOf(request.at('tool_choice'), functions);
  return { tools: list, ...(choice === null ? {} : { tool_choice: choice }) };
}

/** The tools of the request, and those that its items bring along. */
function toolLists(request: DocumentNode): DocumentNode[] {
  const input = request.at('input');
  const items = Array.isArray(input.value) ? input.items() : [];
  const bringing = items.filter((item) => {
    const { value: type } = item.at('type');
    return type === 'additional_tools' || type === 'tool_search_output';
  });
  return [request, ...bringing].map((place) => place.at('tools')).filter((one) => !one.isAbsent);
}

function isUnforced(choice: DocumentNode): boolean {
  return choice.isAbsent || choice.value === 'auto' || choice.value === 'none';
}

const typesOfCaller = new Set<unknown>(['function', 'custom', 'namespace']);

function hasToolOfCaller(tools: DocumentNode): boolean {
  return tools.items().some((tool) => typesOfCaller.has(tool.at('type').value));
}

interface ToolPlace {
  readonly namespace: Namespace | null;
  /** Whether the model may do without tools that the provider runs. */
  readonly isOptional: boolean;
}

function addTools(
  functions: Map<string, Json>,
  tools: DocumentNode,
  { namespace, isOptional }: ToolPlace,
): void {
  for (const tool of tools.items()) {
    switch (tool.at('type').value) {
      case 'function':
        tool.follow(rulesOf('function'));
        add(functions, namespace, tool, copyMembers(tool, 'parameters', 'strict'));
        break;
      case 'custom':
        tool.follow(rulesOf('custom'));
        add(functions, namespace, tool, { parameters: customToolParameters });
        break;
      case 'namespace':
        tool.follow(rulesOf('namespace'));
        addTools(functions, tool.at('tools'), { namespace: namespaceOf(tool), isOptional });
        break;
      case 'tool_search':
        addToolSearch(functions, tool);
        break;
      default:
        tool.dropKind(rules.toolShape, isOptional);
    }
  }
}

function namespaceOf(tool: DocumentNode): Namespace {
  const description = tool.at('description');
  return {
    name: tool.at('name').text(),
    description: description.isAbsent ? '' : description.text(),
  };
}

function rulesOf(kind: string): MemberRules {
  return rules.toolShape.kinds[kind] as MemberRules;
}

function add(
  functions: Map<string, Json>,
  namespace: Namespace | null,
  tool: DocumentNode,
  more: Json,
): void {
  const name = functionName(namespace?.name ?? null, tool.at('name').text());
  functions.set(name, { name, ...descriptionOf(tool, namespace), ...more });
}

function descriptionOf(tool: DocumentNode, namespace: Namespace | null): Json {
  const format = tool.at('format');
  const own = customToolDescription(tool.at('description'), format, format);
  const prefix = namespace === null ? '' : namespace.description;
  if (prefix === '') return own;
  return { description: [prefix, own.description].filter((one) => one !== undefined).join('\n\n') };
}

/** A search that the provider executes has no effect, because all tools are in the request. */
function addToolSearch(functions: Map<string, Json>, tool: DocumentNode): void {
  if (tool.at('execution').value !== 'client') {
    tool.at('type').dropHint();
    return;
  }
  tool.follow(rulesOf('tool_search'));
  functions.set(toolSearchName, {
    name: toolSearchName,
    ...copyMembers(tool, 'description', 'parameters'),
  });
}

/** Null when absent, or when it names no function. */
function choiceOf(choice: DocumentNode, functions: ReadonlyMap<string, Json>): unknown {
  if (choice.isAbsent) return null;
  if (choice.isText) return choice.text();
  const { value: type } = choice.at('type');
  if (type !== 'function' && type !== 'custom') {
    choice.dropKind(rules.choiceShape);
    return null;
  }
  choice.follow(rules.choiceShape.kinds[type] as MemberRules);
  const name = choice.at('name').text();
  const found = functions.has(name)
    ? name
    : [...functions.keys()].find((one) => one.endsWith(`__${name}`));
  return { type: 'function', function: { name: found ?? name } };
}
