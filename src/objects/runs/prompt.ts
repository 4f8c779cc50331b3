/** Knows what a model is asked at one turn of a run: instructions, what the thread says, and what the run did so far. */
import type { RunTerms } from '../../model/objects/run.ts';
import { isFileSearch } from '../../model/objects/run-tool.ts';
import type { MessagePart } from '../../model/objects/thread.ts';
import type { StoredStep } from '../../store/objects/run-steps.ts';
import type { StoredRun } from '../../store/objects/runs.ts';
import type { StoredMessage } from '../../store/objects/thread-messages.ts';
import { searchFunction, searchToolOf, toldSearches } from './file-search.ts';
import { asFunction, callsIn, isSearch, outputOf } from './step-calls.ts';

type Message = Readonly<Record<string, unknown>>;

export interface PromptParts {
  readonly run: StoredRun;
  readonly terms: RunTerms;
  /** Of the thread, those of the run among them; the oldest first. */
  readonly messages: readonly StoredMessage[];
  readonly steps: readonly StoredStep[];
}

/** Of a prompt; the oldest messages beyond are not told. */
const promptCharsMax = 4 * 1024 * 1024;
/** What a token is taken for where a prompt has to be short. */
const charsOfToken = 4;

/** The bound of tokens that the run has used up; null for none. */
export function usedUp({ run, terms }: Pick<PromptParts, 'run' | 'terms'>): string | null {
  const { max_prompt_tokens: prompt, max_completion_tokens: completion } = terms;
  if (completion !== null && run.completion_tokens >= completion) return 'max_completion_tokens';
  return prompt !== null && run.prompt_tokens >= prompt ? 'max_prompt_tokens' : null;
}

/** Parameters of a chat. */
export function chatParams(parts: PromptParts, isStream: boolean): Record<string, unknown> {
  const { run, terms } = parts;
  const { instructions, tool_choice: choice, response_format: format } = terms;
  const tools = toolsOf(terms);
  const system =
    instructions === null || instructions === '' ? [] : [{ role: 'system', content: instructions }];
  const bound = terms.max_completion_tokens;
  return {
    model: terms.model,
    messages: [...system, ...toldMessages(parts), ...ownMessages(parts)],
    ...(tools.length === 0
      ? {}
      : {
          tools,
          // One that is forced would be forced again and again.
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

/** As models know them: all of them are functions. */
function toolsOf(terms: RunTerms): object[] {
  const search = searchToolOf(terms) === null ? [] : [searchFunction];
  return [...terms.tools.filter((tool) => !isFileSearch(tool)), ...search];
}

function choiceOf(choice: RunTerms['tool_choice']): RunTerms['tool_choice'] {
  if (typeof choice === 'string' || choice.type === 'function') return choice;
  return { type: 'function', function: { name: choice.type } };
}

/** What the thread said before the run, as much of it as the run's terms let it hear. */
function toldMessages({ run, terms, messages }: PromptParts): Message[] {
  const { truncation_strategy: truncation, max_prompt_tokens: bound } = terms;
  const before = messages.filter((message) => message.run_id !== run.id);
  const last = truncation.last_messages ?? before.length;
  const left = bound === null ? promptCharsMax : (bound - run.prompt_tokens) * charsOfToken;
  const told: Message[] = [];
  let chars = terms.instructions?.length ?? 0;
  for (const message of before.slice(-last).reverse()) {
    chars += message.content.length;
    if (told.length > 0 && chars > Math.min(left, promptCharsMax)) break;
    told.push({ role: message.role, content: contentOf(message) });
  }
  return told.reverse();
}

/** What the model said and called at earlier turns, and what came of it. */
function ownMessages({ messages, steps }: PromptParts): Message[] {
  const texts = new Map(messages.map((message) => [message.id, contentOf(message)]));
  const own: Message[] = [];
  let said: unknown = null;
  for (const step of steps) {
    const details = JSON.parse(step.details);
    if (details.type === 'message_creation') {
      said = texts.get(details.message_creation.message_id) ?? null;
      continue;
    }
    const calls = callsIn(step.details);
    own.push({ role: 'assistant', content: said, tool_calls: calls.map(asFunction) });
    const searches = toldSearches(step);
    for (const call of calls) {
      const content = isSearch(call) ? searches.get(call.id) : outputOf(call);
      own.push({ role: 'tool', tool_call_id: call.id, content });
    }
    said = null;
  }
  return own;
}

/** One text where there is nothing else. */
function contentOf({ content }: StoredMessage): unknown {
  const parts = JSON.parse(content) as MessagePart[];
  if (parts.every((part) => part.type === 'text')) {
    return parts.map((part) => part.text.value).join('\n');
  }
  return parts.map((part) =>
    part.type === 'text' ? { type: 'text', text: part.text.value } : part,
  );
}
