/** Applies defaults of folders under manifests, and patches of environments over them. */
import { type KindName, kindNames } from '../../model/kinds/kinds.ts';
import { placeText } from '../resources/resource-set.ts';
import { type Shape, shapeOf } from '../resources/spec-shape.ts';
import { byPlace, type SourceFault } from '../source/source-files.ts';
import { isMap } from '../yaml/map-fields.ts';
import type { SourcePlace } from '../yaml/source-place.ts';
import { LayeredPlace, withRelated } from './layered-place.ts';
import { type MergeResult, merge, type Part } from './merge.ts';
import { putInMebibytesMax, type SubstitutionBudget } from './substitution-budget.ts';

/** A document with variables replaced, and its position. */
export interface Layer {
  readonly value: Readonly<Record<string, unknown>>;
  readonly place: SourcePlace;
}

/** A folder of one location. */
export interface FolderMark {
  readonly location: number;
  /** '' or `a/b`. */
  readonly folder: string;
}

/** The layers of a source. */
export class Layers {
  /** By folder mark and kind. */
  readonly #defaults = new Map<string, Map<KindName, Defaults>>();
  /** By the envelope of the manifest that they patch. */
  readonly #patches = new Map<string, Patch>();
  readonly #budget: SubstitutionBudget;

  constructor(budget: SubstitutionBudget) {
    this.#budget = budget;
  }

  /** Whether the source has no layers. */
  get isEmpty(): boolean {
    return this.#defaults.size === 0 && this.#patches.size === 0;
  }

  /**
   * Adds the defaults of one kind for a folder and everything below.
   *
   * @param defaults spec with the defaults by kind
   * @returns a fault for a second set of defaults
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

  /** @returns a fault for a second patch of the same manifest */
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

  /** Composes a manifest with its layers; conflicts are added to `faults`. */
  compose(manifest: Layer, mark: FolderMark, faults: SourceFault[]): Layer {
    const patch = this.#patches.get(envelopeKey(manifest.value));
    const isAbsent = (patch?.value.state ?? manifest.value.state) === 'absent';
    const onDefaults = isAbsent ? manifest : this.#overDefaults(manifest, mark, faults);
    return patch === undefined ? onDefaults : patched(onDefaults, patch, faults);
  }

  /** Returns faults for patches without a manifest, by position. */
  unmatched(): SourceFault[] {
    return [...this.#patches]
      .filter(([, { manifest }]) => manifest === undefined)
      .map(([key, { place }]) => {
        const message = `${key} is patched but not declared in this source`;
        const fix = 'correct kind, name or workspace, or remove the patch';
        return place.fault(['metadata', 'name'], 'unmatched-patch', message, fix);
      })
      .toSorted(byPlace);
  }

  /**
   * Returns remarks for defaults without a manifest, by position: not faults, but probably
   * mistakes.
   */
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
      const message = `defaults and values exceed ${putInMebibytesMax} MiB in all manifests`;
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
        merged.parts,
        'upper',
        relations,
      ),
    };
  }

  /** Returns the defaults of the nearest folder that has some for the kind. */
  #defaultsFor(kind: KindName, { location, folder }: FolderMark): Defaults | undefined {
    for (let at = folder; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/')))) {
      const found = this.#defaults.get(markKey({ location, folder: at }))?.get(kind);
      if (found !== undefined || at === '') return found;
    }
  }
}

interface Defaults extends Layer {
  /** Whether they apply to a manifest. */
  isReached: boolean;
}

interface Patch extends Layer {
  /** The manifest that it patches. */
  manifest: SourcePlace | undefined;
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

function misfitFaults(
  { misfits }: MergeResult,
  manifest: SourcePlace,
  patch: SourcePlace,
): SourceFault[] {
  return misfits.map(({ from, to, message, fix }) => ({
    position: withRelated(patch.at(from, 'key'), 'patches', manifest.at(to, 'key')),
    code: 'unmatched-patch',
    message,
    fix,
  }));
}

/** Drops the fields that identify the target of a patch; they belong to the manifest. */
function withoutIdentity(metadata: unknown): unknown {
  if (!isMap(metadata)) return metadata;
  const { name, workspace, ...others } = metadata;
  return others;
}

function kindOf({ kind }: Layer['value']): KindName | undefined {
  return kindNames.find((name) => name === kind);
}

/** Formats `ApiKey/support/bot`; an External has its own word whatever it stands for. */
function envelopeKey({ kind, metadata }: Layer['value']): string {
  const { workspace = null, name } = isMap(metadata) ? metadata : {};
  return [kind, ...(workspace === null ? [] : [workspace]), name].map(String).join('/');
}

function markKey({ location, folder }: FolderMark): string {
  return `${location}:${folder}`;
}
