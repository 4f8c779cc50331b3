/** Builds the rules of answers of chats, whole or streamed, whose members each target format names in its own way. */
import {
  carried,
  type FormatRules,
  hint,
  implied,
  type MemberRule,
  memberRules,
  type ObjectShape,
} from './member-rules.ts';

type Members<Name extends string> = Readonly<Record<Name, MemberRule>>;

/** The members whose fate depends on the target. */
export interface ChatAnswerMembers {
  readonly completion: Members<'id' | 'model' | 'choices' | 'usage'>;
  readonly choice: Members<'index' | 'message' | 'delta' | 'finish_reason' | 'logprobs'>;
  readonly reply: Members<'content' | 'refusal' | 'tool_calls' | 'annotations'>;
  readonly call: Members<'index' | 'id' | 'function'>;
  readonly called: Members<'name' | 'arguments'>;
  readonly usage: Members<
    | 'prompt_tokens'
    | 'completion_tokens'
    | 'total_tokens'
    | 'prompt_tokens_details'
    | 'completion_tokens_details'
  >;
  readonly details: Members<'cached_tokens' | 'cache_write_tokens' | 'reasoning_tokens'>;
}

/** `more` has shapes of members that few targets translate. */
export function chatAnswerRulesTo(
  to: string,
  members: ChatAnswerMembers,
  more: readonly ObjectShape[] = [],
): FormatRules {
  const inSums = implied('in the sums');
  const shape = (name: string, places: RegExp, rules: Readonly<Record<string, MemberRule>>) => {
    return { name, places, kinds: { '': memberRules(rules) } };
  };
  return {
    from: 'an answer of a chat',
    to,
    shapes: [
      shape('completion or chunk', /^$/, {
        ...members.completion,
        object: implied(),
        created: implied(),
        service_tier: hint('priced and logged by the gateway'),
        system_fingerprint: hint(),
        obfuscation: implied('equalises the sizes of chunks'),
        moderation: hint(),
        metadata: hint(),
      }),
      shape('choice', /^choices\[\]$/, members.choice),
      shape('message or delta', /^choices\[\]\.(?:message|delta)$/, {
        role: carried(),
        ...members.reply,
        audio: hint('requests demand none'),
        function_call: hint('requests demand none'),
      }),
      shape('tool call', /tool_calls\[\]$/, {
        ...members.call,
        type: implied(),
        custom: hint('requests have functions in place of custom tools'),
      }),
      shape('called function', /tool_calls\[\]\.function$/, members.called),
      shape('usage', /^usage$/, members.usage),
      shape('details of the usage', /^usage\.(?:prompt|completion)_tokens_details$/, {
        ...members.details,
        audio_tokens: inSums,
        text_tokens: inSums,
        image_tokens: inSums,
        accepted_prediction_tokens: inSums,
        rejected_prediction_tokens: inSums,
      }),
      ...more,
    ],
  };
}
