#!/bin/sh
# Makes the files of this folder with dpmine 0.1.0, which must be the `dpmine` on PATH, beside its `python`:
#   git worktree add OLD d132db0 && python -m venv V && V/bin/pip install OLD && PATH="V/bin:$PATH" sh make.sh
# Run it in an empty folder that has shop.toml, people.toml and items.txt. Noise is drawn again, so files differ.
set -eu

python - <<'PYTHON'
import pyarrow as pa
import pyarrow.parquet as pq

baskets = [["bread", "butter", "jam"]] * 300 + [["butter", "tea"]] * 60 + [["bread", "tea"]] * 25
rows = [(customer, item) for customer, items in enumerate(baskets) for item in items]
customers, items = zip(*rows)
pq.write_table(pa.table({"customer": customers, "item": items}), "sales.parquet")
count = 400
ages = [20 + 60 * (number * 7919 % count) / count for number in range(count)]
hours = [60 * (number * 104729 % count) / count for number in range(count)]
people = {
    "age": ages,
    "hours": hours,
    "rich": [age >= 50 for age in ages],
    "share": [age / 80 for age in ages],
    "spent": [age / 100 - hour / 200 for age, hour in zip(ages, hours)],
    "member": [age >= 40 for age in ages],
    "online": [hour < 30 for hour in hours],
}
pq.write_table(pa.table(people), "people.parquet")
PYTHON

ledger="--ledger sqlite:///budget.db"
dpmine ledger grant $ledger --dataset shop --epsilon 300 --delta 1e-3 --unit customer
dpmine ledger grant $ledger --dataset people --epsilon 700 --delta 1e-3
dpmine ledger grant $ledger --dataset regions --epsilon 10 --delta 1e-3 --neighbors add-remove --parts by-unit
dpmine report shop.toml -o shop.html
dpmine report people.toml -o people.html

# Results of commands.
sales="sales.parquet --unit customer --item item $ledger --dataset shop"
dpmine top-itemset $sales --top 3 --epsilon 20 --release-support 5 --rules -o itemsets.json
dpmine top-itemset $sales --size 1 --epsilon 20 --mechanism exponential --catalogue items.txt -o itemsets.csv
dpmine top-itemset $sales --size 1-2 --epsilon 20 --mechanism limited-domain -o itemsets.parquet
dpmine top-itemset sales.parquet --unit customer --item item --neighbors add-remove --epsilon 5 $ledger --dataset regions/north -o region.json
people="people.parquet $ledger --dataset people"
dpmine histogram $people --column age --lower 20 --upper 80 --bins 4,8 --epsilon 20 -o histogram.json

# Model files, and what 0.1.0 predicts with them.
mkdir -p models
score() {
    dpmine "$1" --model "models/$2.json" --predict people.parquet -o "models/$2.predictions.csv"
}
linear="$people --label rich --features age,hours --norm-bound 100 --lambdas 0.01 --epsilon 30"
dpmine classify $linear --model models/logistic.json && score classify logistic
dpmine classify $linear --loss huber --method output --model models/huber.json && score classify huber
first="$people --features share --epsilon-max 60 --x-bound 1 --regularization 0.1"
dpmine accuracy-first $first --model-kind ridge --target spent --excess-risk 0.2 --y-bound 1 --model models/ridge.json
score accuracy-first ridge
dpmine accuracy-first $first --model-kind logistic --target rich --excess-risk 0.4 --model models/first.json
score accuracy-first first
rule() {
    name=$1
    shift
    dpmine hypothesis $people --label rich --epsilon 20 --class "$@" --model "models/$name.json"
    score hypothesis "$name"
}
rule thresholds thresholds --features age --lower 20 --upper 80 --grid 61
rule intervals intervals --features age --lower 20 --upper 80 --grid 61
rule stumps stumps --features age,hours --lower 0 --upper 80 --grid 81
rule conjunctions conjunctions --features member,online
rule separators separators --features age,hours --lower 0 --upper 80 --resolution 3

dpmine ledger export $ledger -o ledger.json
dpmine ledger show $ledger --format json -o totals.json
