/** Joins the messages of a chat to turns, for formats in which roles alternate. */
import type { Json } from './document-node.ts';

export interface RoleTurn {
  readonly role: 'user' | 'assistant';
  readonly content: Json[];
}

/** Consecutive messages of one role form one turn, because results must be in the turn after their calls. */
export function addToTurns(
  turns: RoleTurn[],
  role: RoleTurn['role'],
  content: readonly Json[],
): void {
  const last = turns.at(-1);
  if (last?.role === role) last.content.push(...content);
  else turns.push({ role, content: [...content] });
}
