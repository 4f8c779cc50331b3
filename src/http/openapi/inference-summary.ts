/** Writes the summary of an inference operation from its method and path. */

const summaries: Readonly<Record<string, string>> = {
  'POST /v1/chat/completions': 'Create a chat completion',
  'POST /v1/completions': 'Create a completion',
  'POST /v1/embeddings': 'Create embeddings',
  'POST /v1/moderations': 'Classify texts for moderation',
  'POST /v1/images/generations': 'Create images',
  'POST /v1/images/edits': 'Edit images',
  'POST /v1/images/variations': 'Create variations of an image',
  'POST /v1/audio/speech': 'Create speech from text',
  'POST /v1/audio/transcriptions': 'Transcribe speech',
  'POST /v1/audio/translations': 'Translate speech',
  'POST /v1/messages': 'Create a message',
  'POST /v1/messages/count_tokens': 'Count the tokens of a message',
  'POST /v1/responses': 'Create a response',
  'POST /v1/prompts/{promptId}/completions': 'Have a model answer a prompt',
};

const verbs: Readonly<Record<string, string>> = {
  cancel: 'Cancel',
  complete: 'Complete',
  pause: 'Pause',
  remix: 'Remix',
  restart: 'Restart',
  resume: 'Resume',
  search: 'Search',
  start: 'Start',
  submit_tool_outputs: 'Submit tool outputs to',
};

/** Collections of objects; other last words name a part of an object or an action. */
const collections =
  /^(?:assistants|batches|characters|checkpoints|completions|containers|conversations|evals|events|file_batches|files|input_items|items|jobs|messages|models|\w+-models|output_items|parts|permissions|providers|responses|results|runs|skills|steps|threads|uploads|vector_stores|versions|videos)$/;

export function inferenceSummary(method: string, path: string): string {
  const known = summaries[`${method} ${path}`];
  if (known !== undefined) return known;
  const words = path.split('/').slice(2);
  const last = words.at(-1)!;
  const things = words.slice(0, -1).filter((word) => !word.startsWith('{'));
  const hasId = words.some((word) => word.startsWith('{'));
  if (last.startsWith('{')) return `${itemVerbs[method]} ${one(things)}`;
  const action = verbs[last];
  if (action !== undefined && hasId) return `${action} ${one(things)}`;
  if (!collections.test(last) || words.includes('deployments') || words[0] === 'engines') {
    const isPart = hasId && method === 'GET';
    return isPart
      ? `Get the ${plain(last)} of ${one(things)}`
      : `Request ${plain(words.filter((word) => !word.startsWith('{')).join(' '))}`;
  }
  if (method === 'GET')
    return things.length > 0 && hasId
      ? `List the ${plain(last)} of ${one(things)}`
      : `List ${plain([...things, last].join(' '))}`;
  return `Create ${one([...things, last])}`;
}

const itemVerbs: Readonly<Record<string, string>> = {
  DELETE: 'Delete',
  GET: 'Get',
  POST: 'Update',
};

/** `a run of a thread` for `threads`, `runs`. */
function one(collectionWords: readonly string[]): string {
  const nouns = collectionWords.map((word) =>
    plain(word)
      .replace(/(?<=ch)es$/, '')
      .replace(/ies$/, 'y')
      .replace(/s$/, ''),
  );
  return nouns
    .toReversed()
    .map((noun) => `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`)
    .join(' of ');
}

function plain(word: string): string {
  return word.replaceAll(/[_-]/g, ' ');
}
