// Words and colours of a life.
import type { Phase } from "../../model/life";
import type { Theme } from "../../ui/colors";

const DAY_S = 86_400;

/** What a phase is, for legends. */
export const PHASE_WORDS: Record<Phase, string> = {
  redone: "work done again",
  detection: "nobody knows",
  diagnosis: "until the culprit is out",
  waiting: "no spare",
  restart: "starting again",
};

/** Okabe-Ito; work that is lost is quiet, as the job ran then. */
export function phaseColor(phase: Phase, theme: Theme): string {
  const colors: Record<Phase, string> = {
    redone: theme.name === "dark" ? "#5c6672" : "#b9c0c8",
    detection: "#d55e00",
    diagnosis: "#e69f00",
    waiting: "#cc79a7",
    restart: theme.name === "dark" ? "#3d9bdc" : "#0072b2",
  };
  return colors[phase];
}

/** A moment of a life: day, hour and minute from its begin on. */
export function moment(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = Math.floor(seconds / DAY_S) + 1;
  return `day ${day}, ${two(Math.floor(minutes / 60) % 24)}:${two(minutes % 60)}`;
}
