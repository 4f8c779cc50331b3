/** Translates how much a model thinks between chats and Gemini. */
import type { DocumentNode, Json } from '../documents/document-node.ts';
import * as rules from './gemini-request-rules.ts';

/** Models up to 2.5 take a number of tokens, later ones a level. */
const budgetModels = /gemini-(?:1|2)(?:\.\d+)?-/;

/** Budgets that Google's own face for chats uses for each effort. */
const budgets = new Map([
  ['none', 0],
  ['minimal', 1024],
  ['low', 1024],
  ['medium', 8192],
  ['high', 24_576],
  ['xhigh', 24_576],
  ['max', 24_576],
]);
const levels = new Map([
  ['minimal', 'MINIMAL'],
  ['low', 'LOW'],
  ['medium', 'MEDIUM'],
  ['high', 'HIGH'],
  ['xhigh', 'HIGH'],
  ['max', 'HIGH'],
]);

/**
 * Reads `reasoning_effort` and `thinking` of a chat request; null when both are absent.
 *
 * @throws NotTranslatable
 */
export function thinkingConfigOf(request: DocumentNode): Json | null {
  const thinking = request.at('thinking');
  const effort = request.at('reasoning_effort');
  const own = thinking.isAbsent ? null : budgetOf(thinking);
  if (own !== null || effort.isAbsent) return own;
  const word = effort.text();
  const takesBudget = budgetModels.test(request.at('model').text());
  const value = (takesBudget ? budgets : levels).get(word);
  if (value === undefined) {
    return effort.refuse(
      takesBudget
        ? `must be one of ${[...budgets.keys()].join(', ')}`
        : `must be one of ${[...levels.keys()].join(', ')}: this model always thinks`,
    );
  }
  const amount = takesBudget ? { thinkingBudget: value } : { thinkingLevel: value };
  return value === 0 ? amount : { ...amount, includeThoughts: true };
}

/** Null when the model decides. */
function budgetOf(thinking: DocumentNode): Json | null {
  thinking.only('type', 'budget_tokens', 'display');
  switch (thinking.at('type').value) {
    case 'disabled':
      return { thinkingBudget: 0 };
    case 'enabled':
      return { thinkingBudget: thinking.at('budget_tokens').number(), includeThoughts: true };
    case 'adaptive':
      return null;
    default:
      return thinking.at('type').refuseUnsupported();
  }
}

/** Largest budgets of the efforts, in tokens. */
const effortsByBudget: readonly (readonly [number, string])[] = [
  [0, 'none'],
  [2_048, 'low'],
  [12_288, 'medium'],
];

/** Returns the effort of a chat for `thinkingConfig`; null when the model decides. */
export function effortOf(config: DocumentNode): string | null {
  if (config.isAbsent) return null;
  config.follow(rules.thinkingShape.kinds['']);
  const level = config.at('thinkingLevel');
  if (!level.isAbsent && level.text() !== 'THINKING_LEVEL_UNSPECIFIED') {
    return level.text().toLowerCase();
  }
  const budget = config.at('thinkingBudget');
  if (budget.isAbsent || budget.number() < 0) return null;
  return effortsByBudget.find(([most]) => budget.number() <= most)?.[1] ?? 'high';
}
