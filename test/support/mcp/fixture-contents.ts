/** Contents that the MCP fixture servers of both eras return: texts, an image, a sound, prompts and resources. */

/** A 1x1 PNG. */
const imageData =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
/** A WAV file without samples. */
const soundData = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';

export type FixtureContent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio'; readonly data: string; readonly mimeType: string }
  | { readonly type: 'resource'; readonly resource: FixtureResourceText };

interface FixtureResourceText {
  readonly uri: string;
  readonly mimeType: string;
  readonly text: string;
}

export type FixtureResourceContent =
  | FixtureResourceText
  | { readonly uri: string; readonly mimeType: string; readonly blob: string };

interface FixtureMessage {
  readonly role: 'user';
  readonly content: FixtureContent;
}

export interface FixturePrompt {
  readonly name: string;
  readonly description: string;
  /** Required arguments: name and description. */
  readonly arguments: Readonly<Record<string, string>>;
  readonly messages: (values: Readonly<Record<string, string>>) => readonly FixtureMessage[];
}

export interface FixtureResource {
  readonly name: string;
  readonly uri: string;
  readonly description: string;
  readonly mimeType: string;
  readonly content: FixtureResourceContent;
}

export const text = (value: string): FixtureContent => ({ type: 'text', text: value });
export const image: FixtureContent = { type: 'image', data: imageData, mimeType: 'image/png' };
export const sound: FixtureContent = { type: 'audio', data: soundData, mimeType: 'audio/wav' };

export function embedded(uri: string, mimeType: string, value: string): FixtureContent {
  return { type: 'resource', resource: { uri, mimeType, text: value } };
}

const fromUser = (content: FixtureContent): FixtureMessage => ({ role: 'user', content });

export const fixturePrompts: readonly FixturePrompt[] = [
  {
    name: 'test_simple_prompt',
    description: 'A prompt without arguments',
    arguments: {},
    messages: () => [fromUser(text('This is a simple prompt for testing.'))],
  },
  {
    name: 'test_prompt_with_arguments',
    description: 'A prompt with two arguments',
    arguments: { arg1: 'First test argument', arg2: 'Second test argument' },
    messages: ({ arg1, arg2 }) => [
      fromUser(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
    ],
  },
  {
    name: 'test_prompt_with_embedded_resource',
    description: 'A prompt that embeds a resource',
    arguments: { resourceUri: 'URI of the resource to embed' },
    messages: ({ resourceUri = '' }) => [
      fromUser(embedded(resourceUri, 'text/plain', 'Embedded resource content for testing.')),
      fromUser(text('Please process the embedded resource above.')),
    ],
  },
  {
    name: 'test_prompt_with_image',
    description: 'A prompt that contains an image',
    arguments: {},
    messages: () => [fromUser(image), fromUser(text('Please analyze the image above.'))],
  },
];

export const fixtureResources: readonly FixtureResource[] = [
  {
    name: 'static-text',
    uri: 'test://static-text',
    description: 'A resource that is a text',
    mimeType: 'text/plain',
    content: {
      uri: 'test://static-text',
      mimeType: 'text/plain',
      text: 'This is the content of the static text resource.',
    },
  },
  {
    name: 'static-binary',
    uri: 'test://static-binary',
    description: 'A resource that is an image',
    mimeType: 'image/png',
    content: { uri: 'test://static-binary', mimeType: 'image/png', blob: imageData },
  },
  {
    name: 'watched-resource',
    uri: 'test://watched-resource',
    description: 'A resource to subscribe to; test_trigger_resource_update updates it',
    mimeType: 'text/plain',
    content: {
      uri: 'test://watched-resource',
      mimeType: 'text/plain',
      text: 'This resource can be watched.',
    },
  },
];

export const fixtureTemplate = {
  name: 'template',
  uriTemplate: 'test://template/{id}/data',
  description: 'A resource for each id',
  mimeType: 'application/json',
};

/** The resource of the template that `uri` names; null for any other URI. */
export function templateContent(uri: string): FixtureResourceContent | null {
  const [, id] = /^test:\/\/template\/([^/]+)\/data$/.exec(uri) ?? [];
  if (id === undefined) return null;
  const data = { id, templateTest: true, data: `Data for ID: ${id}` };
  return { uri, mimeType: 'application/json', text: JSON.stringify(data) };
}

/** Completions of `arg1` of `test_prompt_with_arguments`. */
export function completionsOf(value: string): string[] {
  return ['paris', 'park', 'party', 'test'].filter((word) => word.startsWith(value));
}
