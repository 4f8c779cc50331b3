/** A chat request as guardrails see it, without its texts. */
export const chatSubject = {
  side: 'input' as const,
  endpoint: 'chat_completions',
  isStream: false,
  params: {},
  answer: null,
  unreadable: null,
  metadata: {},
  headers: {},
  provider: 'openai',
  model: 'gpt-4o',
  traceId: 'trace-1',
};
