/** Knows what is laid under the manifests of a folder and over those of an environment: defaults and patches. */
import { type KindName, kindNames } from '../../model/kinds/kinds.ts';
import { placeText } from '../resources/resource-set.ts';
import { type Shape, shapeOf } from '../resources/spec-shape.ts';
import { byPlace, type SourceFault } from '../source/source-files.ts';
import { isMap } from '../yaml/map-fields.ts';
import type { Place } from '../yaml/place.ts';
import { type Budget, putInMebibytesMax } from './budget.ts';
import { LayeredPlace, withRelated } from './layered-place.ts';
import { type Merged, merge, type Part } from './merge.ts';

/** A document whose variables are replaced, and where it stands. */
export interface Layer {
  readonly value: Readonly<Record<string, unknown>>;
  readonly place: Place;
}

/** A folder of one location. */
export interface FolderMark {
  readonly location: number;
  /** '' or `a/b`. */
  readonly folder: string;
}

/** Everything of a source that goes into manifests and is none itself. */
export class Layers {
  /** By the mark of their folder; each kind once. */
  readonly #defaults = new Map<string, Map<KindName, Defaults>>();
  /** By the envelope of what they patch. */
  readonly #patches = new Map<string, Patch>();
  readonly #budget: Budget;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  /** Nothing is laid over or under anything. */
  get isEmpty(): boolean {
    return this.#defaults.size === 0 && this.#patches.size === 0;
  }

  /**
   * Takes the defaults of one kind for a folder and all below it.
   *
   * @param defaults its spec holds them by kind
   * @returns the fault of those that stand there a second time
   */
  addDefaults(mark: FolderMark, kind: KindName, defaults: Layer): SourceFault | undefined {
    const key = markKey(mark);
    const ofFolder = this.#defaults.get(key) ?? new Map<KindName, Defaults>();
    this.#defaults.set(key, ofFolder);
    const first = ofFolder.get(kind);
    ofFolder.set(kind, first ?? { ...defaults, isReached: false });
    if (first === undefined) return undefined;
    const at = placeText(first.place.at(['spec', kind], 'key'));
    const message = `this folder has defaults for ${kind} twice, first at ${at}`;
    const position = defaults.place.at(['spec', kind], 'key');
    return { position, code: 'duplicate', message, fix: 'make them one' };
  }

  /** @returns the fault of a second one for the same manifest */
  addPatch(patch: Layer): SourceFault | undefined {
    const key = envelopeKey(patch.value);
    const first = this.#patches.get(key);
    if (first === undefined) {
      this.#patches.set(key, { ...patch, manifest: undefined });
      return undefined;
    }
    const message = `${key} is patched twice, first at ${placeText(first.place.start)}`;
    return patch.place.fault(['metadata', 'name'], 'duplicate', message, 'make them one patch');
  }

  /** A manifest with what goes under and over it; what does not fit is added to `faults`. */
  compose(manifest: Layer, mark: FolderMark, faults: SourceFault[]): Layer {
    const patch = this.#patches.get(envelopeKey(manifest.value));
    const isAbsent = (patch?.value.state ?? manifest.value.state) === 'absent';
    const onDefaults = isAbsent ? manifest : this.#overDefaults(manifest, mark, faults);
    return patch === undefined ? onDefaults : patched(onDefaults, patch, faults);
  }

  /** Faults of patches for which there was no manifest, in the order of their places. */
  unmatched(): SourceFault[] {
    return [...this.#patches]
      .filter(([, { manifest }]) => manifest === undefined)
      .map(([key, { place }]) => {
        const message = `${key} is patched and not declared in this source`;
        const fix = 'correct kind, name or workspace, or remove the patch';
        return place.fault(['metadata', 'name'], 'unmatched-patch', message, fix);
      })
      .toSorted(byPlace);
  }

  /** Defaults that lie under no manifest, in the order of their places: no fault, but hardly what was meant. */
  unreached(): SourceFault[] {
    return [...this.#defaults.values()]
      .flatMap((ofFolder) => [...ofFolder])
      .filter(([, { isReached }]) => !isReached)
      .map(([kind, { place }]) => ({
        position: place.at(['spec', kind], 'key'),
        code: 'unreached-defaults',
        message: `the defaults for ${kind} reach no manifest in this folder or below`,
        fix: 'move them to where the manifests are, or remove them; nearer defaults outrank them',
      }))
      .toSorted(byPlace);
  }

  #overDefaults(manifest: Layer, mark: FolderMark, faults: SourceFault[]): Layer {
    const kind = kindOf(manifest.value);
    const defaults = kind === undefined ? undefined : this.#defaultsFor(kind, mark);
    const { spec = {} } = manifest.value;
    if (defaults !== undefined) defaults.isReached = true;
    if (kind === undefined || defaults === undefined || !(isMap(spec) || spec === null)) {
      return manifest;
    }
    const lower = (defaults.value.spec as Record<string, unknown>)[kind];
    if (!this.#budget.take(lower)) {
      const message = `defaults and values come to more than ${putInMebibytesMax} MiB in all manifests`;
      faults.push(defaults.place.fault(['spec', kind], 'too-large', message));
      return manifest;
    }
    const rules = { at: ['spec'], lowerAt: ['spec', kind], shape: shapeOf(kind), isPatch: false };
    const merged = merge(lower, spec ?? {}, rules);
    if (!merged.parts.some(({ layer }) => layer === 'lower')) return manifest;
    const relations = { ofManifest: 'defaults from', ofLayer: 'default for' } as const;
    return {
      value: { ...manifest.value, spec: merged.value },
      place: new LayeredPlace(
        { manifest: manifest.place, layer: defaults.place },
        ...([merged.parts, 'upper', relations] as const),
      ),
    };
  }

  /** Those of the nearest folder that has some for the kind. */
  #defaultsFor(kind: KindName, { location, folder }: FolderMark): Defaults | undefined {
    for (let at = folder; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/')))) {
      const found = this.#defaults.get(markKey({ location, folder: at }))?.get(kind);
      if (found !== undefined || at === '') return found;
    }
  }
}

interface Defaults extends Layer {
  /** They were laid under a manifest. */
  isReached: boolean;
}

interface Patch extends Layer {
  /** What it was laid over. */
  manifest: Place | undefined;
}

function patched(manifest: Layer, patch: Patch, faults: SourceFault[]): Layer {
  if (patch.manifest !== undefined) {
    const message = `this patch is for more than one manifest, the first at ${placeText(patch.manifest.start)}`;
    faults.push(patch.place.fault(['metadata', 'name'], 'ambiguous-patch', message));
  }
  patch.manifest = manifest.place;
  const kind = kindOf(manifest.value);
  const shapes: Readonly<Record<string, Shape | null>> = {
    metadata: null,
    spec: kind === undefined ? null : shapeOf(kind),
    state: null,
  };
  const value: Record<string, unknown> = { ...manifest.value };
  const parts: Part[] = [];
  for (const key of Object.keys(shapes)) {
    if (!Object.hasOwn(patch.value, key)) continue;
    const upper = key === 'metadata' ? withoutIdentity(patch.value[key]) : patch.value[key];
    const rules = { at: [key], shape: shapes[key]!, isPatch: true };
    const merged = merge(value[key] ?? undefined, upper, rules);
    value[key] = merged.value;
    parts.push(...merged.parts);
    faults.push(...misfitFaults(merged, manifest.place, patch.place));
  }
  const relations = { ofManifest: 'patched by', ofLayer: 'patches' } as const;
  const places = { manifest: manifest.place, layer: patch.place };
  return { value, place: new LayeredPlace(places, parts, 'lower', relations) };
}

function misfitFaults({ misfits }: Merged, manifest: Place, patch: Place): SourceFault[] {
  return misfits.map(({ from, to, message, fix }) => ({
    position: withRelated(patch.at(from, 'key'), 'patches', manifest.at(to, 'key')),
    code: 'unmatched-patch',
    message,
    fix,
  }));
}

/** By these it is known what a patch is for; they are the manifest's. */
function withoutIdentity(metadata: unknown): unknown {
  if (!isMap(metadata)) return metadata;
  const { name, workspace, ...others } = metadata;
  return others;
}

function kindOf({ kind }: Layer['value']): KindName | undefined {
  return kindNames.find((name) => name === kind);
}

/** `ApiKey/support/bot`; of an External it is that word, whatever it stands for. */
function envelopeKey({ kind, metadata }: Layer['value']): string {
  const { workspace = null, name } = isMap(metadata) ? metadata : {};
  return [kind, ...(workspace === null ? [] : [workspace]), name].map(String).join('/');
}

function markKey({ location, folder }: FolderMark): string {
  return `${location}:${folder}`;
}
