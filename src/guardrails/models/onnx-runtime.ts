/** Loads ONNX Runtime, which operators install, because it is larger than gatewright itself. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { ModelUnusable } from './model-bundle.ts';

/** An output or an input of a model. */
interface Tensor {
  readonly data: ArrayLike<number>;
  readonly dims: readonly number[];
}

interface InferenceSession {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  run(feeds: Readonly<Record<string, Tensor>>): Promise<Readonly<Record<string, Tensor>>>;
}

/** The part of the interface of ONNX Runtime that is used. */
export interface OnnxRuntime {
  readonly InferenceSession: {
    create(model: Uint8Array, options: object): Promise<InferenceSession>;
  };
  readonly Tensor: new (type: 'int64', data: BigInt64Array, dims: readonly number[]) => Tensor;
}

const packageName = 'onnxruntime-node';

/**
 * Loads the package from the folder of the model, else from where gatewright is installed.
 *
 * @throws ModelUnusable
 */
export function loadOnnxRuntime(folder: string): OnnxRuntime {
  const faults: unknown[] = [];
  for (const place of [join(folder, 'package.json'), import.meta.url]) {
    try {
      return createRequire(place)(packageName) as OnnxRuntime;
    } catch (error) {
      faults.push(error);
    }
  }
  const [first] = faults as NodeJS.ErrnoException[];
  const reason =
    first?.code === 'MODULE_NOT_FOUND'
      ? `install it there: npm install --prefix ${folder} ${packageName}`
      : (first?.message.split('\n')[0] ?? 'unknown');
  throw new ModelUnusable(`${packageName} cannot be loaded for the model in ${folder}: ${reason}`);
}
