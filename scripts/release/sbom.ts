/** Writes the software bills of materials of the artefacts in CycloneDX. */
import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Architecture } from './debian/package-lock.ts';
import { readDebianLock } from './debian/package-lock.ts';
import { nodePackage, nodeVersion } from './node-program.ts';
import type { ReleaseSource } from './source.ts';

const Licence = z.union([
  z.object({ license: z.object({ id: z.string() }) }),
  z.object({ license: z.object({ name: z.string() }) }),
  z.object({ expression: z.string() }),
]);

const Component = z.looseObject({
  'bom-ref': z.string(),
  type: z.string(),
  name: z.string(),
  group: z.string().optional(),
  version: z.string().optional(),
  licenses: z.array(Licence).optional(),
  purl: z.string().optional(),
  properties: z.array(z.object({ name: z.string(), value: z.string() })).optional(),
});

const Bom = z.looseObject({
  metadata: z.looseObject({ component: Component }),
  components: z.array(Component),
  dependencies: z.array(z.object({ ref: z.string(), dependsOn: z.array(z.string()).optional() })),
});

export type SbomComponent = z.infer<typeof Component>;
export type Sbom = z.infer<typeof Bom>;

/** Builds the console and is in no artefact. */
const bundler = 'rolldown';

/** The SBOM of the npm package, from the lock file. */
export function npmSbom({ folder }: Pick<ReleaseSource, 'folder'>): Sbom {
  const program = resolve(import.meta.dirname, '../../node_modules/.bin/cyclonedx-npm');
  const words = ['--omit', 'dev', '--package-lock-only', '--output-reproducible'];
  const text = execFileSync(process.execPath, [program, ...words, '--spec-version', '1.6'], {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  return withoutBundler(Bom.parse(JSON.parse(text)));
}

/** Removes the bundler and whatever only the bundler depends on. */
function withoutBundler(bom: Sbom): Sbom {
  const dependsOn = new Map(bom.dependencies.map((one) => [one.ref, one.dependsOn ?? []]));
  const dropped = new Set(
    bom.components.filter(({ name }) => name === bundler).map((one) => one['bom-ref']),
  );
  const reached = new Set<string>();
  const visit = (ref: string): void => {
    if (reached.has(ref) || dropped.has(ref)) return;
    reached.add(ref);
    for (const next of dependsOn.get(ref) ?? []) visit(next);
  };
  visit(bom.metadata.component['bom-ref']);
  return {
    ...bom,
    components: bom.components.filter((one) => reached.has(one['bom-ref'])),
    dependencies: bom.dependencies
      .filter(({ ref }) => reached.has(ref))
      .map(({ ref, dependsOn: list }) => ({
        ref,
        dependsOn: list?.filter((to) => reached.has(to)),
      })),
  };
}

/** The SBOM of an image: the npm package, Node and the Debian packages. */
export function imageSbom(npm: Sbom, architecture: Architecture): Sbom {
  const lock = readDebianLock();
  const debian = lock.packages[architecture].map(({ name, version, sha256 }) => {
    const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}&distro=${lock.suite}`;
    const hashes = [{ alg: 'SHA-256', content: sha256 }];
    return { type: 'library', name, version, 'bom-ref': purl, purl, hashes };
  });
  const { name } = nodePackage(architecture);
  const node = `pkg:npm/${name}@${nodeVersion}`;
  const own = npm.metadata.component;
  const component = {
    ...own,
    type: 'container',
    'bom-ref': `gatewright-image@${own.version}-${architecture}`,
    purl: `pkg:oci/gatewright?arch=${architecture}&tag=${own.version}`,
  };
  const runtime = [
    { type: 'platform', name: 'node', version: nodeVersion, 'bom-ref': node, purl: node },
    ...debian,
  ];
  const libraries = npm.components.filter((one) => !one.name.startsWith('node-linux-'));
  const refs = new Set(libraries.map((one) => one['bom-ref']));
  return {
    ...npm,
    metadata: { ...npm.metadata, component },
    components: [own, ...libraries, ...runtime],
    dependencies: [
      { ref: component['bom-ref'], dependsOn: [own, ...runtime].map((one) => one['bom-ref']) },
      ...npm.dependencies
        .filter(({ ref }) => ref === own['bom-ref'] || refs.has(ref))
        .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn?.filter((to) => refs.has(to)) })),
      ...runtime.map((one) => ({ ref: one['bom-ref'] })),
    ],
  };
}

/** The SBOM of the chart: the images that it installs. */
export function chartSbom(npm: Sbom, chart: string, values: string): Sbom {
  const { name, version } = parse(chart) as Record<'name' | 'version', string>;
  const { image, mysql } = parse(values);
  const own = { type: 'application', name, version, 'bom-ref': `${name}-chart@${version}` };
  const images = [image, mysql.embedded.image].map((one) => {
    const tag = one.tag === '' ? version : one.tag;
    const title = [one.registry, one.repository].filter(Boolean).join('/');
    return { type: 'container', name: title, version: tag, 'bom-ref': `${title}:${tag}` };
  });
  return {
    ...npm,
    metadata: {
      ...npm.metadata,
      component: { ...own, licenses: npm.metadata.component.licenses },
    },
    components: images,
    dependencies: [
      { ref: own['bom-ref'], dependsOn: images.map((one) => one['bom-ref']) },
      ...images.map((one) => ({ ref: one['bom-ref'] })),
    ],
  };
}

export function sbomText(bom: Sbom): string {
  return `${JSON.stringify(bom, null, 2)}\n`;
}
