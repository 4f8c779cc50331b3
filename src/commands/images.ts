/** Defines the `images` command, which lists the container images of the chart for private registries. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { Failure } from '../failure.ts';
import { packageRoot } from '../package-root.ts';
import type { Command } from './shared/command.ts';
import { outputForm, textOption } from './shared/option.ts';

interface ImagesOptions {
  readonly values: string | undefined;
  readonly registry: string | undefined;
  readonly output: 'text' | 'json';
}

export const images: Command<ImagesOptions> = {
  examples: [
    ['gatewright images', 'All that the chart may use, one a line'],
    ['gatewright images --values values.yaml', 'The images used with these values'],
    [
      'gatewright images --registry registry.example.com',
      'The names that the copies need, with global.imageRegistry',
    ],
  ],
  options: {
    values: textOption('FILE', {
      describe: 'Values of the chart',
      fallback: 'values of the chart',
    }),
    registry: textOption('HOST', {
      describe: 'Registry instead of that of each image',
      fallback: 'global.imageRegistry of the values',
    }),
    output: outputForm(['text', 'json'], 'Output format; json contains digest and use'),
  },
  run: async ({ values, registry, output }, io) => {
    const chart = join(packageRoot(), 'charts/gatewright');
    const given = values === undefined ? null : readValues(resolve(io.cwd, values), values);
    const found = imagesOf(readDefaults(chart), given, registry);
    if (output === 'json') io.stdout.writeJson({ images: found });
    else for (const { image } of found) io.stdout.write(`${image}\n`);
    return 'success';
  },
};

const Text = z.string();
const Image = z.object({ registry: Text, repository: Text, tag: Text, digest: Text });
const Chart = z.object({ appVersion: Text });
const Defaults = z.object({
  image: Image,
  mysql: z.object({ embedded: z.object({ image: Image }) }),
});
/** The values that this command reads; the chart itself rejects unknown ones. */
const ChartImageValues = z.object({
  global: z.object({ imageRegistry: Text.optional() }).nullish(),
  image: Image.partial().nullish(),
  mysql: z
    .object({
      embedded: z
        .object({ enabled: z.boolean().optional(), image: Image.partial().nullish() })
        .nullish(),
    })
    .nullish(),
});
type ChartImageValues = z.infer<typeof ChartImageValues>;

interface ListedImage {
  /** The reference that container engines pull. */
  readonly image: string;
  readonly digest: string | null;
  readonly use: string;
}

function imagesOf(
  { appVersion, image, mysql }: z.infer<typeof Defaults> & z.infer<typeof Chart>,
  given: ChartImageValues | null,
  registry: string | undefined,
): ListedImage[] {
  const moved = registry ?? (given?.global?.imageRegistry || undefined);
  const listed = (block: z.infer<typeof Image>, use: string): ListedImage => {
    const from = moved ?? block.registry;
    const name = `${from === '' ? '' : `${from}/`}${block.repository}`;
    const digest = block.digest === '' ? null : block.digest;
    const tag = block.tag === '' ? appVersion : block.tag;
    return { image: digest === null ? `${name}:${tag}` : `${name}@${digest}`, digest, use };
  };
  const embedded = given?.mysql?.embedded;
  const isEmbedded = given === null || embedded?.enabled === true;
  return [
    listed({ ...image, ...given?.image }, 'server, gateway, sync, migrations, test'),
    ...(isEmbedded
      ? [listed({ ...mysql.embedded.image, ...embedded?.image }, 'mysql.embedded, for a trial')]
      : []),
  ];
}

function readDefaults(chart: string): Parameters<typeof imagesOf>[0] {
  const read = (name: string): unknown => parse(readFileSync(join(chart, name), 'utf8'));
  return { ...Defaults.parse(read('values.yaml')), ...Chart.parse(read('Chart.yaml')) };
}

/** @throws Failure (invalid input) that names the file and the value */
function readValues(path: string, name: string): ChartImageValues {
  let document: unknown;
  try {
    document = parse(readFileSync(path, 'utf8'), { logLevel: 'error' });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // The message of the parser might quote a secret.
    const why = code?.startsWith('E') === true ? `cannot be read (${code})` : 'is not YAML';
    throw new Failure('invalidInput', `${name} ${why}`, { cause: error });
  }
  const read = ChartImageValues.safeParse(document ?? {});
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const where = issue?.path.join('.') ?? '';
  throw new Failure(
    'invalidInput',
    `${name}: ${where === '' ? 'the values' : where} must have the form that the chart accepts`,
  );
}
