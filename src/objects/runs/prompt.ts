/** Builds the chat request for one turn of a run: instructions, thread messages, and the steps so far. */
import type { RunTerms } from '../../model/objects/run.ts';
import { isFileSearch } from '../../model/objects/run-tool.ts';
import type { MessagePart } from '../../model/objects/thread.ts';
import type { StoredStep } from '../../store/objects/run-steps.ts';
import type { StoredRun } from '../../store/objects/runs.ts';
import type { StoredMessage } from '../../store/objects/thread-messages.ts';
import { searchFunction, searchOutputs, searchToolOf } from './file-search.ts';
import { asFunction, callsIn, isSearch, outputOf } from './step-calls.ts';

type ChatMessage = Readonly<Record<string, unknown>>;

export interface PromptParts {
  readonly run: StoredRun;
  readonly terms: RunTerms;
  /** Messages of the thread, including those of the run; oldest first. */
  readonly messages: readonly StoredMessage[];
  readonly steps: readonly StoredStep[];
}

/** Maximum size of a prompt; older messages are dropped. */
const promptCharsMax = 4 * 1024 * 1024;
/** Estimated characters of a token, for limiting the prompt. */
const charsOfToken = 4;

/** The token limit that the run has exhausted; null for none. */
export function exhaustedLimit({ run, terms }: Pick<PromptParts, 'run' | 'terms'>): string | null {
  const { max_prompt_tokens: prompt, max_completion_tokens: completion } = terms;
  if (completion !== null && run.completion_tokens >= completion) return 'max_completion_tokens';
  return prompt !== null && run.prompt_tokens >= prompt ? 'max_prompt_tokens' : null;
}

/** Parameters of the chat completion. */
export function chatParams(parts: PromptParts, isStream: boolean): Record<string, unknown> {
  const { run, terms } = parts;
  const { instructions, tool_choice: choice, response_format: format } = terms;
  const tools = toolsOf(terms);
  const system =
    instructions === null || instructions === '' ? [] : [{ role: 'system', content: instructions }];
  const bound = terms.max_completion_tokens;
  return {
    model: terms.model,
    messages: [...system, ...threadMessages(parts), ...runMessages(parts)],
    ...(tools.length === 0
      ? {}
      : {
          tools,
          // A forced tool applies to the first turn only; otherwise the run would never end.
          tool_choice: run.turn === 0 || choice === 'none' ? choiceOf(choice) : 'auto',
          parallel_tool_calls: terms.parallel_tool_calls,
        }),
    ...(terms.temperature === null ? {} : { temperature: terms.temperature }),
    ...(terms.top_p === null ? {} : { top_p: terms.top_p }),
    ...(terms.reasoning_effort === null ? {} : { reasoning_effort: terms.reasoning_effort }),
    ...(typeof format === 'object' && format !== null ? { response_format: format } : {}),
    ...(bound === null ? {} : { max_completion_tokens: bound - run.completion_tokens }),
    ...(isStream ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
}

/** Tools as declared to models, all of them as functions. */
function toolsOf(terms: RunTerms): object[] {
  const search = searchToolOf(terms) === null ? [] : [searchFunction];
  return [...terms.tools.filter((tool) => !isFileSearch(tool)), ...search];
}

function choiceOf(choice: RunTerms['tool_choice']): RunTerms['tool_choice'] {
  if (typeof choice === 'string' || choice.type === 'function') return choice;
  return { type: 'function', function: { name: choice.type } };
}

/** Messages of the thread from before the run, as many as its terms allow. */
function threadMessages({ run, terms, messages }: PromptParts): ChatMessage[] {
  const { truncation_strategy: truncation, max_prompt_tokens: bound } = terms;
  const before = messages.filter((message) => message.run_id !== run.id);
  const last = truncation.last_messages ?? before.length;
  const left = bound === null ? promptCharsMax : (bound - run.prompt_tokens) * charsOfToken;
  const selected: ChatMessage[] = [];
  let chars = terms.instructions?.length ?? 0;
  for (const message of before.slice(-last).reverse()) {
    chars += message.content.length;
    if (selected.length > 0 && chars > Math.min(left, promptCharsMax)) break;
    selected.push({ role: message.role, content: contentOf(message) });
  }
  return selected.reverse();
}

/** Texts and calls of the model in previous turns, with the outputs of the calls. */
function runMessages({ messages, steps }: PromptParts): ChatMessage[] {
  const texts = new Map(messages.map((message) => [message.id, contentOf(message)]));
  const own: ChatMessage[] = [];
  let text: unknown = null;
  for (const step of steps) {
    const details = JSON.parse(step.details);
    if (details.type === 'message_creation') {
      text = texts.get(details.message_creation.message_id) ?? null;
      continue;
    }
    const calls = callsIn(step.details);
    own.push({ role: 'assistant', content: text, tool_calls: calls.map(asFunction) });
    const searches = searchOutputs(step);
    for (const call of calls) {
      const content = isSearch(call) ? searches.get(call.id) : outputOf(call);
      own.push({ role: 'tool', tool_call_id: call.id, content });
    }
    text = null;
  }
  return own;
}

/** A string if all parts are text. */
function contentOf({ content }: StoredMessage): unknown {
  const parts = JSON.parse(content) as MessagePart[];
  if (parts.every((part) => part.type === 'text')) {
    return parts.map((part) => part.text.value).join('\n');
  }
  return parts.map((part) =>
    part.type === 'text' ? { type: 'text', text: part.text.value } : part,
  );
}
