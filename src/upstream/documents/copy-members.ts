/** Copies members that both formats have under the same name. */
import type { DocumentNode, Json } from './document-node.ts';

/** Returns the members that are present. */
export function copyMembers(node: DocumentNode, ...names: readonly string[]): Json {
  const present = names.filter((name) => !node.at(name).isAbsent);
  return Object.fromEntries(present.map((name) => [name, node.at(name).value]));
}
