import argparse
import sys

from tests.fuzz.runner import run
from tests.fuzz.targets import TARGETS, mutated


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--targets", nargs="+", default=list(TARGETS), choices=list(TARGETS))
    parser.add_argument("--case", type=int, help="run this case of the first target alone")
    args = parser.parse_args()
    if args.case is not None:
        target = TARGETS[args.targets[0]]
        content, document = mutated(target, args.seed, args.case)
        print(content.decode(errors="replace")[:5000])
        target.use(content, document)
        return
    sys.exit(1 if run(args.targets, count=args.count, seed=args.seed, workers=args.workers) else 0)


if __name__ == "__main__":
    main()
