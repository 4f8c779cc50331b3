/** Maps budgets and efforts of reasoning between formats. */
import { canDisableReasoning, canReason } from '../../model/services/chat-extensions.ts';
import type { DocumentNode, Json } from '../documents/document-node.ts';

/** Largest budget in tokens of each effort, in ascending order. */
export const budgetsOfEfforts = [
  ['low', 4096],
  ['medium', 16_384],
  ['high', 32_768],
  ['xhigh', 65_536],
] as const;

/** Effort of adaptive thinking, whose amount the model decides. */
const adaptiveEffort = 'medium';

function effortOfBudget(tokens: number): string {
  return budgetsOfEfforts.find(([, most]) => tokens <= most)?.[0] ?? 'max';
}

/** Budget of an effort; `max` has twice that of the greatest effort below it. */
function budgetOfEffort(effort: string): number {
  const found = budgetsOfEfforts.find(([name]) => name === effort)?.[1];
  return found ?? (effort === 'max' ? 131_072 : budgetsOfEfforts[0][1]);
}

/** Translates `thinking` and the effort of a message to the effort of a chat. */
export function chatEffort(thinking: DocumentNode, effort: DocumentNode, model: unknown): Json {
  if (!effort.isAbsent) {
    if (canReason(model)) return { reasoning_effort: effort.text() };
    effort.dropHint();
  }
  if (thinking.isAbsent) return {};
  const type = thinking.at('type');
  switch (type.text()) {
    case 'disabled':
      return canDisableReasoning(model) ? { reasoning_effort: 'none' } : {};
    case 'enabled':
    case 'adaptive':
    case 'between_tools':
      break;
    default:
      type.dropMeaning();
      return {};
  }
  if (!effort.isAbsent) return {};
  if (!canReason(model)) {
    thinking.dropHint();
    return {};
  }
  const budget = thinking.at('budget_tokens');
  const isBudget = type.value === 'enabled' && !budget.isAbsent;
  return { reasoning_effort: isBudget ? effortOfBudget(budget.number()) : adaptiveEffort };
}

/** Models of Anthropic that know no effort, only a budget. */
const budgetModels =
  /claude-(?:3-7-sonnet|(?:opus-4(?:-[01])?|sonnet-4(?:-[05])?|haiku-4-5)(?:$|[@:]|-\d{8}|-v\d|-latest))/i;
/** Models of Anthropic that decide how much they think. */
const adaptiveModels = /claude-(?:opus|sonnet|haiku|[a-z]+)-(?:4-[6-9]|[5-9])/i;
const budgetMin = 1024;

/** Conditions of the request under which Anthropic accepts thinking. */
interface ThinkingTerms {
  readonly model: unknown;
  readonly maxTokens: unknown;
  /** Whether the model may choose a tool freely, and samples as usual. */
  readonly isUnconstrained: boolean;
  /** Whether the turn that continues after tool results has its thinking. */
  readonly hasEarlierThinking: boolean;
}

/** Translates the effort of a chat to members of a message; empty where the model accepts neither of them. */
export function anthropicThinking(
  effort: string,
  { model, maxTokens, isUnconstrained, hasEarlierThinking }: ThinkingTerms,
): { readonly thinking?: Json; readonly effort?: string } {
  if (effort === 'none') return { thinking: { type: 'disabled' } };
  const name = effort === 'minimal' ? 'low' : effort;
  const text = typeof model === 'string' ? model : '';
  if (budgetModels.test(text)) {
    const room = typeof maxTokens === 'number' ? maxTokens - 1 : 0;
    const budget = Math.min(budgetOfEffort(name), Math.floor(room * 0.8));
    if (budget < budgetMin || !isUnconstrained || !hasEarlierThinking) return {};
    return { thinking: { type: 'enabled', budget_tokens: budget } };
  }
  if (!canReason(model)) return {};
  return adaptiveModels.test(text) && isUnconstrained
    ? { effort: name, thinking: { type: 'adaptive' } }
    : { effort: name };
}
