/** The reason why an artefact is not what a release contains. */

/** Thrown by checks; the message completes `NAME: …` and quotes nothing untrusted without bounds. */
export class ReleaseFault extends Error {
  override readonly name = 'ReleaseFault';
}
