/** Spells paths in ways that lenient servers read as the same path. */

/** By what is changed; `path` is below `/v1`. */
export const spellings: Readonly<Record<string, (path: string) => string>> = {
  'as it is': (path) => path,
  'in upper case': (path) => path.replace(/[a-z]/g, (letter) => letter.toUpperCase()),
  'with a slash at the end': (path) => `${path}/`,
  'with a dot at the end': (path) => `${path}.`,
  'with a dot behind its first segment': (path) => path.replace(/^\/[^/]+/, '$&.'),
  'with a blank at the end': (path) => `${path}%20`,
  'with a blank behind its first segment': (path) => path.replace(/^\/[^/]+/, '$&%20'),
  'with a parameter': (path) => `${path};a=b`,
  'with a parameter in its first segment': (path) => path.replace(/^\/[^/]+/, '$&;x'),
  'with an encoded letter': (path) => path.replace(/[a-z]/, hexOf),
  'with a letter that is encoded twice': (path) =>
    path.replace(/[a-z]/, (letter) => hexOf(letter).replace('%', '%25')),
  'with an encoded question mark': (path) => `${path}%3fx`,
  'with an encoded fragment': (path) => `${path}%23x`,
  'below a prefix': (path) => `/x${path}`,
  'below the prefix of a version': (path) => `/v1${path}`,
  'below the prefix of a service': (path) => `/openai/v1${path}`,
  'with another segment': (path) => `${path}/x`,
  'with an empty segment': (path) => path.replace(/\//, '//'),
  'with an invisible character': (path) => `${path}%E2%80%8B`,
  'with a query': (path) => `${path}?x=y`,
};

function hexOf(letter: string): string {
  return `%${letter.charCodeAt(0).toString(16)}`;
}
