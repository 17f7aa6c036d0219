"""Optuna studies that run a user's file in any number of worker processes.

    task        a user's file: its space and its objective
    redaction   what of a storage URL, and of a message about it, may be shown
    journal     a journal file that survives full disks and damaged lines
    database    a database that survives damaged trials
    storage     opening an Optuna storage by URL
    proxy       a gRPC server in front of a database
    heartbeats  how workers on other machines notice that a worker has died
    tickets     how workers share a fixed number of trials, and what happens to the trial of a worker that died
    pruners     which rule ends unpromising trials early
    goals       how a study keeps its objectives and constraints
    studies     creating and loading a study, its stored space and seed, its progress
    history     earlier studies that a study learns from
    manual      trials that a person evaluates
    worker      one process that runs trials
    supervisor  running a study in this process, or in several

A study stays an ordinary Optuna study, so that Optuna's own tools, such as its dashboard, can open it.
"""
